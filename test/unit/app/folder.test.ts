import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from '../../../src/app/folder.js'
import { temporaryFolder } from '../../support/federation.js'

let folder: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.remove())

test('a folder is made with those that it lies in, and made again without harm', async () => {
  const path = join(folder.path, 'a', 'b', 'c')
  await makeFolder(path)
  await makeFolder(path)
  expect(existsSync(path)).toBe(true)
})

test('every folder that is made is for this user alone, and one that is there stays as it is', async () => {
  const before = statSync(folder.path).mode
  await makeFolder(join(folder.path, 'a', 'b'))
  const modes = ['a', 'a/b'].map((path) => statSync(join(folder.path, path)).mode & 0o777)
  expect(modes).toEqual([0o700, 0o700])
  expect(statSync(folder.path).mode).toBe(before)
})

test.each([
  ['a file stands there', 'file', 'EEXIST'],
  ['a file stands on the way', 'file/a/b', 'ENOTDIR'],
])('%s', async (_, path, code) => {
  writeFileSync(join(folder.path, 'file'), '')
  await expect(makeFolder(join(folder.path, path))).rejects.toMatchObject({ code })
})

test.runIf(process.platform === 'linux')(
  'a file system that takes no folders is an error, not an endless wait',
  async () => {
    await expect(makeFolder('/proc/a2m/b')).rejects.toMatchObject({ code: 'ENOENT' })
  },
)
