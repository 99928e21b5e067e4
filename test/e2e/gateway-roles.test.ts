import { expect, test } from 'vitest'
import { type A2mError, CODES } from '../../src/protocol/errors.js'
import type { Method } from '../../src/protocol/methods.js'
import { emptyFolder, run } from '../support/gateway-process.js'
import {
  type ConfigFile,
  configIn,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { until } from '../support/waiting.js'

/** One owner, three callers: an agent that writes its notes, one that reads them, and a librarian who may do everything. */
const CONFIG: ConfigFile = {
  auth: {
    keys: [
      keyEntry('agent', 'ann', ['agent']),
      keyEntry('reader', 'ann', ['reader']),
      keyEntry('librarian', 'ann', ['librarian']),
      keyEntry('outer', '*', ['gateway']),
    ],
  },
  roles: {
    agent: { tiers: ['notes', 'archive'], key_prefixes: ['wf/1'] },
    reader: { tiers: ['notes'], access: 'read' },
    librarian: {},
  },
  upstreams: {
    desk: { store: 'sqlite', path: 'desk.db', timeout: '30s' },
    vault: { store: 'sqlite', path: 'vault.db', timeout: '30s' },
  },
  tiers: {
    secret: { kind: 'semantic', upstream: 'vault' },
    notes: { kind: 'working', upstream: 'desk', capacity: 2, spill_to: 'secret' },
    archive: { kind: 'episodic', upstream: 'desk' },
  },
}

const as = (name: string) => ({ key: keyOf(name) })

async function codeOf(
  gateway: Gateway,
  name: string,
  method: Method,
  params: object,
): Promise<number> {
  return gateway.call(method, params, as(name)).then(
    () => 0,
    (error: A2mError) => error.code,
  )
}

async function remember(gateway: Gateway, name: string, ...records: object[]): Promise<string[]> {
  return (await gateway.call('memory/remember', { records }, as(name))).ids
}

async function contents(gateway: Gateway, name: string, params = {}): Promise<string[]> {
  const { records } = await gateway.call('memory/timeline', params, as(name))
  return records.map(({ content }) => content)
}

test('two callers of one owner see and do what their roles let them', async () => {
  const gateway = await startGateway(CONFIG)
  const { cursor } = await gateway.call('memory/events', {}, as('reader'))
  const [secret = ''] = await remember(gateway, 'librarian', { content: 'a secret' })
  await remember(gateway, 'librarian', { content: 'a city', tier: 'notes', key: 'user/city' })
  await remember(gateway, 'agent', { content: 'a note' }, { content: 'a step', key: 'wf/1/x' })
  expect(await contents(gateway, 'librarian')).toEqual(['a secret', 'a city', 'a note', 'a step'])
  expect(await contents(gateway, 'reader')).toEqual(['a city', 'a note', 'a step'])
  expect(await contents(gateway, 'agent')).toEqual(['a note', 'a step'])
  expect(await contents(gateway, 'agent', { where: { id: secret } })).toEqual([])

  const described = async (name: string) =>
    (await gateway.call('memory/describe', {}, as(name))).tiers?.map((tier) => [
      tier.name,
      tier.count,
    ])
  expect(await described('reader')).toEqual([['notes', 3]])
  expect(await described('agent')).toEqual([
    ['notes', 2],
    ['archive', 0],
  ])
  expect(await described('librarian')).toEqual([
    ['secret', 1],
    ['notes', 3],
    ['archive', 0],
  ])
  expect(await described('outer')).toEqual([])

  const { events } = await gateway.call('memory/events', { cursor }, as('reader'))
  expect(events.map(({ kind, tier }) => [kind, tier])).toEqual(Array(3).fill(['written', 'notes']))

  const entry = (over: object) => ({ records: [{ content: 'x', ...over }] })
  const codes: [name: string, method: Method, params: object, code: number][] = [
    ['reader', 'memory/remember', entry({}), CODES.READ_ONLY],
    ['reader', 'memory/remember', {}, CODES.READ_ONLY],
    ['reader', 'memory/timeline', { tier: 'secret' }, CODES.UNKNOWN_TIER],
    ['reader', 'memory/timeline', { tier: 'archive' }, CODES.UNKNOWN_TIER],
    ['agent', 'memory/remember', entry({ tier: 'secret' }), CODES.UNKNOWN_TIER],
    ['agent', 'memory/remember', entry({ key: 'user/city' }), CODES.SCOPE_DENIED],
    ['agent', 'memory/fetch', { key: 'wf/10' }, CODES.SCOPE_DENIED],
    ['agent', 'memory/recall', { key_prefix: 'wf' }, CODES.SCOPE_DENIED],
    ['agent', 'memory/recall', { owner: 'bob' }, CODES.SCOPE_DENIED],
    ['agent', 'memory/forget', { where: { key: 'user/city' } }, CODES.SCOPE_DENIED],
    ['outer', 'memory/recall', { query: 'x' }, CODES.SCOPE_DENIED],
  ]
  for (const [name, method, params, code] of codes) {
    expect([name, method, params, await codeOf(gateway, name, method, params)]).toEqual([
      name,
      method,
      params,
      code,
    ])
  }

  await remember(gateway, 'agent', { content: 'another' })
  const consolidated = await gateway.call('memory/consolidate', {}, as('agent'))
  expect(consolidated).toMatchObject({ moved: 0 })
  expect(JSON.stringify(consolidated)).not.toContain('secret')
  const well = await (await fetch(new URL('.well-known/a2m-server.json', gateway.url))).text()
  expect(well).not.toContain('secret')
})

test('what a caller may do is taken over by a reload, and explained without a gateway', async () => {
  const cwd = emptyFolder()
  const gateway = await startGateway(CONFIG, { cwd })
  await remember(gateway, 'agent', { content: 'a note' })
  const can = (...args: string[]) => run(['can', ...args, '--config', 'gateway.yaml'], { cwd })
  const write = ['reader', 'remember', '{"records":[{"content":"x"}]}'] as const
  expect(await can(...write)).toMatchObject({ code: 1, stdout: expect.stringContaining('-32004') })
  configIn(cwd, {
    ...CONFIG,
    roles: { ...(CONFIG['roles'] as object), reader: { tiers: ['notes'] } },
  })
  expect(await can(...write)).toMatchObject({ code: 0, stdout: expect.stringContaining('yes') })
  gateway.program.child.kill('SIGHUP')
  const entry = { records: [{ content: 'x' }] }
  await until(async () => (await codeOf(gateway, 'reader', 'memory/remember', entry)) === 0)
  expect(await contents(gateway, 'agent')).toContain('x')
})
