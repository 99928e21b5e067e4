import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyFolder, fileIn, run } from '../support/gateway-process.js'
import { type ConfigFile, configIn, startGateway } from '../support/gateway-under-test.js'

const CANARY = 'canary-of-a-config'

/** What is wrong, the configuration, and the path that the one line names. */
const BAD_CONFIGS: readonly (readonly [what: string, text: string, told: string])[] = [
  ['an unknown key', 'recall: { limt: 3 }', 'recall.limt: unknown key; did you mean limit?'],
  [
    'a variable that is not set',
    'upstreams: { a: { url: "http://127.0.0.1:1/", auth: { bearer: "$' + '{NOT_SET}" } } }',
    'upstreams.a.auth.bearer: the environment variable NOT_SET is not set',
  ],
  [
    'a tier with an upstream that is not there',
    'upstreams: { a: { store: sqlite, path: a.db } }\ntiers: { t: { upstream: b } }',
    'tiers.t.upstream: there is no upstream called b; there are a',
  ],
  [
    'tiers that spill in a circle',
    `upstreams: { a: { store: sqlite, path: a.db } }
tiers:
  x: { upstream: a, spill_to: y }
  y: { upstream: a, spill_to: x }`,
    'tiers.x.spill_to: spills in a circle: x > y > x',
  ],
  [
    'two tiers that are one',
    `upstreams: { a: { store: sqlite, path: a.db } }
tiers: { x: { upstream: a }, y: { upstream: a, upstream_tier: x } }`,
    'tiers.y.upstream_tier: x of a is already the tier x',
  ],
  [
    'a password in a URL',
    `upstreams: { a: { url: "http://user:${CANARY}@127.0.0.1/" } }`,
    'upstreams.a.url: must not carry a user or password; put a token into auth.bearer',
  ],
  [
    'an open door',
    'listen: { host: 0.0.0.0 }',
    'listen.host: 0.0.0.0 is reached from other machines, and nobody has to show a key; add auth.keys or listen on 127.0.0.1',
  ],
]

describe('a bad configuration', () => {
  test.each(BAD_CONFIGS)('%s: one line that names the path, and 2', async (_, text, told) => {
    const cwd = emptyFolder()
    const file = fileIn(cwd, 'gateway.yaml', text)
    const ended = { code: 2, stdout: '', stderr: `a2m-gateway: gateway.yaml: ${told}\n` }
    expect(await run(['serve', '--config', file], { cwd })).toEqual(ended)
  })

  test.each([['check'], ['stdio']])('%s says the same', async (command) => {
    const cwd = emptyFolder()
    const file = fileIn(cwd, 'gateway.yaml', 'nmae: x')
    const { code, stderr } = await run([command, '--config', file], { cwd })
    const told = 'a2m-gateway: gateway.yaml: nmae: unknown key; did you mean name?\n'
    expect([code, stderr]).toEqual([2, told])
  })
})

/** A folder with the databases of a gateway that has run. */
async function usedFolder(): Promise<string> {
  const cwd = emptyFolder()
  const gateway = await startGateway({}, { cwd })
  await gateway.remember({ content: 'the quay' })
  expect(await gateway.stop()).toBe(0)
  return cwd
}

async function failsToStart(cwd: string, config: ConfigFile, told: RegExp): Promise<void> {
  const ended = await run(['serve', '--config', configIn(cwd, config)], { cwd })
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  const lines = ended.stderr.trimEnd().split('\n')
  expect(lines).toEqual([expect.stringMatching(told)])
  expect(lines[0]).toMatch(/^a2m-gateway: /)
}

describe('a start that fails says why in one line and ends with 1', () => {
  test('a database that is damaged, or of a newer version, or a folder', async () => {
    const used = await usedFolder()
    const damage: Readonly<Record<string, (file: string) => void>> = {
      'is cut': (file) => truncateSync(file, 5000),
      'is overwritten': (file) => writeFileSync(file, readFileSync(file).fill(0xaa, 4096)),
      'is newer': (file) => {
        const bytes = readFileSync(file)
        bytes.writeUInt32BE(1000, 60)
        writeFileSync(file, bytes)
      },
      'is a folder': (file) => {
        rmSync(file)
        mkdirSync(file)
      },
    }
    const reasons: Readonly<Record<string, string>> = {
      'is cut': 'damaged',
      'is overwritten': 'damaged',
      'is newer': 'newer',
      'is a folder': 'cannot be opened',
    }
    const kinds = {
      'gateway.db': Object.keys(damage),
      'knowledge.db': ['is cut', 'is overwritten'],
    }
    const starts = Object.entries(kinds).flatMap(([name, kinds]) =>
      kinds.map(async (what) => {
        const data = join(emptyFolder(), 'data')
        cpSync(join(used, 'data'), data, { recursive: true })
        damage[what]?.(join(data, name))
        const told = new RegExp(`${join(data, name)}.*${reasons[what]}`)
        await failsToStart(dirname(data), {}, told)
      }),
    )
    await Promise.all(starts)
  })

  test('a data folder that cannot be made', async () => {
    const cwd = emptyFolder()
    fileIn(cwd, 'file', '')
    await failsToStart(cwd, { data_dir: 'file/data' }, /file\/data: a part of this path is no fold/)
  })

  test('a data folder that another gateway uses', async () => {
    const cwd = emptyFolder()
    const gateway = await startGateway({}, { cwd })
    const log = { level: 'info' }
    await failsToStart(cwd, { log }, /gateway\.db: another gateway is using it/)
    expect(await gateway.remember({ content: 'the first one goes on' })).not.toBe('')
  })

  test('the port for operators is taken', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    await failsToStart(
      emptyFolder(),
      { admin: { port } },
      new RegExp(`127.0.0.1:${port} is in use; .* with admin.port in the configuration, or`),
    )
  })
})
