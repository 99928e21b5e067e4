import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../../src/app/folder.js'
import { ListenError, type ListenerName } from '../../../src/app/listen-error.js'
import { explain, Failure } from '../../../src/cli/failure.js'
import { ConfigError } from '../../../src/config/errors.js'

test('a fault of the configuration ends with 2', () => {
  expect(explain(new ConfigError(['a'], 'is wrong', 'f.yaml'))).toMatchObject({
    message: 'f.yaml: a: is wrong',
    exitCode: 2,
  })
})

test('a failure keeps its own code', () => {
  expect(explain(new Failure(2, 'no'))).toMatchObject({ message: 'no', exitCode: 2 })
})

test('a port in use says what to do', async () => {
  const first = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => first.once('listening', resolve))
  const address = first.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const second = createServer().listen(port, '127.0.0.1')
  const error = await new Promise((resolve) => second.once('error', resolve))
  first.close()
  const what = `127.0.0.1:${port} is in use; end what listens there, or choose another port`
  const told = (listener: ListenerName) => explain(new ListenError(listener, error))
  expect(told('listen')).toEqual({
    message: `${what} with --port or listen.port in the configuration`,
    exitCode: 1,
  })
  expect(told('admin').message).toBe(
    `${what} with admin.port in the configuration, or write admin: off`,
  )
  expect(told('store').message).toBe(`${what} with --http`)
})

test('an address of another machine says which setting to see', async () => {
  const server = createServer().listen(0, '192.0.2.1')
  const error = await new Promise((resolve) => server.once('error', resolve))
  expect(explain(new ListenError('admin', error))).toEqual({
    message: '192.0.2.1 is no address of this machine; see admin.host',
    exitCode: 1,
  })
})

test.runIf(process.platform === 'linux')(
  'a data folder on a file system that takes none says what to do',
  async () => {
    const thrown = await makeFolder('/proc/a2m').catch((error: unknown) => error)
    expect(explain(thrown)).toEqual({
      message:
        '/proc/a2m cannot be made, since its file system takes no new folders; set another data_dir',
      exitCode: 1,
    })
  },
)

test('a folder that cannot be made says why', () => {
  const folder = mkdtempSync(join(tmpdir(), 'a2m-'))
  const file = join(folder, 'data')
  writeFileSync(file, '')
  try {
    mkdirSync(join(file, 'x'), { recursive: true })
    expect.unreachable()
  } catch (thrown) {
    expect(explain(thrown)).toEqual({
      message: `${join(file, 'x')}: a part of this path is no folder`,
      exitCode: 1,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('any other error is told in one line', () => {
  expect(explain(new Error('cannot use x.db as a store: it is damaged'))).toEqual({
    message: 'cannot use x.db as a store: it is damaged',
    exitCode: 1,
  })
})

test('a fault of the program shows where it is', () => {
  expect(explain(new TypeError('x is not a function')).message).toContain('failure.test.ts')
})
