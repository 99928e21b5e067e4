import { afterEach, describe, expect, test } from 'vitest'
import { A2mError, CODES } from '../../../src/protocol/errors.js'
import type { Caller, Scope } from '../../../src/protocol/memory.js'
import { METHOD_NAMES, SPECS } from '../../../src/protocol/methods.js'
import { type Served, serve } from '../../../src/protocol/serve.js'
import type { AuditEntry } from '../../../src/telemetry/audit-log.js'
import { type AuditOptions, withAudit } from '../../../src/telemetry/with-audit.js'
import {
  embeddedStore,
  type FederationSetup,
  openFederation,
  tierConfig,
} from '../../support/federation.js'
import { contextOf } from '../../support/federation-contexts.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

/** Stands in everything that must not be told. */
const CANARY = 'canary-9f1c'
const ANN: Scope = { kind: 'owners', owners: ['ann'] }

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Desk {
  readonly lines: AuditEntry[]
  /** Sends a message as an edge would, and tells the result or the code of the error. */
  send(method: string, params: object, caller?: Partial<Caller>): Promise<unknown>
}

function deskOf(inner: Served, over: Partial<AuditOptions> = {}, failing = false): Desk {
  const lines: AuditEntry[] = []
  const audit = { failing, write: (entry: AuditEntry) => void lines.push(withoutUndefined(entry)) }
  const served = withAudit(inner, { audit, mismatch: 'deny', onFailure: 'continue', ...over })
  return {
    lines,
    async send(method, params, caller = {}) {
      const context = contextOf(ANN)
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const whole = {
        ...context,
        caller: { ...context.caller, name: 'agent', roles: ['r'], ...caller },
      }
      const { reply } = await serve(text, served, whole)
      const { result, error } = JSON.parse(reply ?? '')
      return error === undefined ? result : error.code
    },
  }
}

/** As it is in the file. */
function withoutUndefined(entry: AuditEntry): AuditEntry {
  return JSON.parse(JSON.stringify(entry))
}

const TIERS = [
  tierConfig('working', 'one', { kind: 'working', capacity: 2, spillTo: 'episodic' }),
  tierConfig('episodic', 'one', { kind: 'episodic', capacity: 3, overflow: 'drop' }),
  tierConfig('semantic', 'two', { kind: 'semantic' }),
]

async function overStores(setup: Partial<FederationSetup> = {}): Promise<Served> {
  const tiers = (names: string[]) => names.map((name) => ({ name }))
  const one = embeddedStore({ path: ':memory:', tiers: tiers(['working', 'episodic']) })
  const two = embeddedStore({ path: ':memory:', tiers: tiers(['semantic']) })
  const upstreams = { one: { memory: one }, two: { memory: two } }
  const test = await openFederation({ upstreams, tiers: TIERS, ...setup })
  closing.push(() => test.close())
  return test.federation
}

const WHO = { trace: '0'.repeat(32), caller: 'agent', roles: ['r'], owner: 'ann' }

describe('over stores', () => {
  test('a write tells what it names and what was written, and nothing of what it says', async () => {
    const { lines, send } = deskOf(await overStores())
    const metadata = { [CANARY]: CANARY }
    const [minted] = (
      (await send('memory/remember', {
        records: [
          { content: CANARY, metadata, role: CANARY, uri: CANARY, group: CANARY, session: 's1' },
          {
            content: CANARY,
            id: 'mine',
            key: 'wf/1',
            tier: 'semantic',
            session: 's2',
            media_type: CANARY,
          },
        ],
      })) as { ids: string[] }
    ).ids
    expect(lines).toEqual([
      {
        ...WHO,
        method: 'memory/remember',
        ids: ['mine'],
        keys: ['wf/1'],
        tiers: ['semantic'],
        sessions: ['s1', 's2'],
        outcome: 'ok',
        written: [minted, 'mine'],
      },
    ])
    expect(JSON.stringify(lines)).not.toContain(CANARY)
  })

  test('a forget by words or a filter tells which records are gone, and only that it went by them', async () => {
    const { lines, send } = deskOf(await overStores())
    const records = ['a', 'b', 'c'].map((id) => ({
      id,
      content: `${CANARY} of ${id}`,
      metadata: { n: id },
    }))
    await send('memory/remember', { records })
    lines.length = 0
    await send('memory/forget', { query: CANARY, where: { n: ['a', 'b'] } })
    await send('memory/forget', { ids: ['c', 'none'], query: '', where: {} })
    const forget = { ...WHO, method: 'memory/forget', outcome: 'ok' }
    expect(lines).toEqual([
      {
        ...forget,
        by: ['query', 'where'],
        count: 2,
        forgotten: expect.arrayContaining(['a', 'b']),
      },
      { ...forget, by: ['ids'], ids: ['c', 'none'], count: 1, forgotten: ['c'] },
    ])
    expect(JSON.stringify(lines)).not.toContain(CANARY)
  })

  test('what moves, is promoted or dropped is told by its ids, a group whole', async () => {
    const { lines, send } = deskOf(await overStores())
    const of = (tier: string, ids: string[], group?: string) =>
      send('memory/remember', { records: ids.map((id) => ({ id, tier, content: CANARY, group })) })
    await of('working', ['p1', 'p2'], 'g')
    await of('working', ['w1', 'w2', 'w3'])
    await of('episodic', ['e1', 'e2', 'e3'])
    lines.length = 0
    await send('memory/promote', { ids: ['p1', 'none'], tier: 'semantic' })
    await send('memory/consolidate', {})
    await send('memory/reinforce', { ids: ['w2', 'none'], amount: 0.5 })
    expect(lines).toEqual([
      {
        ...WHO,
        method: 'memory/promote',
        ids: ['p1', 'none'],
        tiers: ['semantic'],
        outcome: 'ok',
        count: 2,
        promoted: ['p1', 'p2'],
      },
      {
        ...WHO,
        method: 'memory/consolidate',
        outcome: 'ok',
        count: 2,
        moved: ['w1'],
        dropped: ['w1'],
      },
      { ...WHO, method: 'memory/reinforce', ids: ['w2', 'none'], outcome: 'ok', count: 1 },
    ])
  })

  test('a session that is closed tells what left, and a summary what it was written as', async () => {
    const { lines, send } = deskOf(await overStores())
    const texts = [
      `The ${CANARY} sings before breakfast.`,
      `Deploys happen on Tuesday, says ${CANARY}.`,
    ]
    const records = texts.map((content, n) => ({ id: `r${n}`, content, session: 's1' }))
    await send('memory/remember', { records })
    lines.length = 0
    const result = await send('memory/summarize', {
      ids: ['r0', 'r1'],
      into: 'semantic',
      key: 'sum',
    })
    const [summary] = (result as { records: { id: string }[] }).records
    await send('memory/session/close', { session: 's1' })
    expect(lines).toEqual([
      {
        ...WHO,
        method: 'memory/summarize',
        ids: ['r0', 'r1'],
        by: ['ids'],
        keys: ['sum'],
        tiers: ['semantic'],
        outcome: 'ok',
        written: [summary?.id],
      },
      {
        ...WHO,
        method: 'memory/session/close',
        sessions: ['s1'],
        outcome: 'ok',
        count: 2,
        moved: ['r0', 'r1'],
      },
    ])
    expect(JSON.stringify(lines)).not.toContain(CANARY)
  })

  test('reading is not told; nor is a message that is wrong', async () => {
    const { lines, send } = deskOf(await overStores())
    await send('memory/describe', {})
    await send('memory/recall', { query: CANARY })
    await send('memory/timeline', {})
    await send('memory/fetch', { key: 'k' })
    await send('memory/session/list', {})
    await send('memory/events', {})
    expect(await send('memory/remember', { records: [{ content: 7 }] })).toBe(CODES.INVALID_PARAMS)
    expect(await send('memory/none', {})).toBe(CODES.METHOD_NOT_FOUND)
    expect(lines).toEqual([])
  })

  test('whoever acts for another owner is refused, and both are told', async () => {
    const { lines, send } = deskOf(await overStores())
    const denied = { outcome: 'refused', code: CODES.SCOPE_DENIED, owner: 'bob' }
    await send('memory/recall', { query: CANARY, owner: 'bob', tier: 'semantic' })
    await send('memory/fetch', { key: 'k1', owner: 'bob' })
    await send('memory/remember', { records: [{ content: CANARY, owner: 'bob', key: 'k2' }] })
    await send('memory/forget', { ids: ['x'], owner: 'bob' })
    expect(lines).toEqual([
      { ...WHO, ...denied, method: 'memory/recall', tiers: ['semantic'] },
      { ...WHO, ...denied, method: 'memory/fetch', keys: ['k1'] },
      { ...WHO, ...denied, method: 'memory/remember', keys: ['k2'] },
      { ...WHO, ...denied, method: 'memory/forget', ids: ['x'], by: ['ids'] },
    ])
  })

  test('where a foreign owner is passed over, the caller’s own is told', async () => {
    const served = await overStores({ ownerMismatch: 'ignore' })
    const { lines, send } = deskOf(served, { mismatch: 'ignore' })
    await send('memory/remember', { records: [{ id: 'x', content: CANARY, owner: 'bob' }] })
    expect(lines).toMatchObject([{ owner: 'ann', outcome: 'ok', written: ['x'] }])
  })

  test('owners of several records, of nobody, of anyone', async () => {
    const { lines, send } = deskOf(await overStores())
    const all = { scope: { kind: 'all' } } as const
    const records = ['ann', 'bob', 'ann'].map((owner) => ({ content: CANARY, owner }))
    await send('memory/remember', { records }, all)
    await send('memory/remember', { records: [{ content: CANARY }], owner: 'eve' }, all)
    await send('memory/consolidate', {}, all)
    await send(
      'memory/remember',
      { records: [{ content: CANARY }] },
      { scope: { kind: 'ownerless' } },
    )
    expect(lines.map(({ owner, owners }) => ({ owner, owners }))).toEqual([
      { owner: undefined, owners: ['ann', 'bob'] },
      { owner: 'eve', owners: undefined },
      { owner: undefined, owners: undefined },
      { owner: null, owners: undefined },
    ])
  })
})

test('a memory that takes no writes refuses each, before its params are read', async () => {
  const upstreams = { one: { memory: new PlainMemory({ readOnly: true, tiers: ['a', 'b'] }) } }
  const { lines, send } = deskOf(await overStores({ upstreams, tiers: [] }))
  const writes = METHOD_NAMES.filter((method) => SPECS[method].kind === 'write')
  const codes = new Map<string, unknown>()
  for (const method of writes)
    codes.set(method, await send(method, { ids: [CANARY], query: CANARY }))
  const refused = writes.filter((method) => codes.get(method) === CODES.READ_ONLY)
  expect(refused).toContain('memory/remember')
  expect(lines).toEqual(
    refused.map((method) => ({ ...WHO, method, outcome: 'refused', code: CODES.READ_ONLY })),
  )
})

test('a write that fails tells whether it may have happened', async () => {
  const memory = new Faulty(embeddedStore({ path: ':memory:' }))
  const served = await overStores({ upstreams: { one: { memory } }, tiers: [] })
  const { lines, send } = deskOf(served)
  memory.fault = (method) => (method === 'memory/remember' ? new Error('broken pipe') : undefined)
  expect(await send('memory/remember', { records: [{ content: CANARY }] })).toBe(
    CODES.INTERNAL_ERROR,
  )
  expect(lines).toMatchObject([
    { outcome: 'failed', code: CODES.INTERNAL_ERROR, effect: 'unknown' },
  ])
})

/** A memory that answers every call alike. */
function alike(answer: () => unknown): Served {
  return {
    refusal: () => undefined,
    recognised: (_method, params) => params,
    call: async () => answer() as never,
    close: async () => {},
  }
}

test('a limit that is used up is a refusal, of reading too; other errors of reading are none', async () => {
  const codes = ['QUOTA_EXCEEDED', 'UNKNOWN_TIER', 'INTERNAL_ERROR'] as const
  const { lines, send } = deskOf(
    alike(() => {
      throw new A2mError(codes[turn++] ?? 'QUOTA_EXCEEDED', 'no', { limit: 'daily', used: 6 })
    }),
  )
  let turn = 0
  for (let n = 0; n < 3; n++) await send('memory/recall', { query: CANARY })
  await send('memory/forget', { query: CANARY })
  expect(lines).toEqual([
    {
      ...WHO,
      method: 'memory/recall',
      outcome: 'refused',
      code: CODES.QUOTA_EXCEEDED,
      limit: 'daily',
    },
    {
      ...WHO,
      method: 'memory/forget',
      by: ['query'],
      outcome: 'refused',
      code: CODES.QUOTA_EXCEEDED,
      limit: 'daily',
    },
  ])
})

test('a log that cannot be written stops nothing, or every write, as configured', async () => {
  const ids = { ids: ['x'] }
  const write = { records: [{ content: CANARY }] }
  const going = deskOf(
    alike(() => ids),
    { onFailure: 'continue' },
    true,
  )
  expect(await going.send('memory/remember', write)).toEqual(ids)
  const refusing = deskOf(
    alike(() => ids),
    { onFailure: 'refuse' },
    true,
  )
  expect(await refusing.send('memory/remember', write)).toBe(CODES.INTERNAL_ERROR)
  expect(await refusing.send('memory/recall', {})).toEqual(ids)
  const again = deskOf(
    alike(() => ids),
    { onFailure: 'refuse' },
    false,
  )
  expect(await again.send('memory/remember', write)).toEqual(ids)
})
