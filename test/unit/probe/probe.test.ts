import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createExtractor } from '../../../src/digest/extract.js'
import { withDigest } from '../../../src/digest/with-digest.js'
import { type ProbeOptions, probe } from '../../../src/probe/probe.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { withContract } from '../../../src/protocol/contract.js'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { createIds } from '../../../src/protocol/ids.js'
import { JsonText } from '../../../src/protocol/json.js'
import type { Memory } from '../../../src/protocol/memory.js'
import { CAPABILITIES, type Description } from '../../../src/protocol/methods.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { withScope } from '../../../src/protocol/scope.js'
import { systemClock } from '../../../src/protocol/time.js'
import type { StoreOptions } from '../../../src/stores/options.js'
import { openStore, storeContract } from '../../../src/stores/store.js'
import { Tokenizer } from '../../../src/text/tokenizer.js'
import { createLoopback } from '../../../src/transport/in-process.js'
import { contextWithin } from '../../support/contexts.js'
import { gatewayContext } from '../../support/federation-contexts.js'
import { type Lie, liar } from '../../support/liar.js'
import { PlainMemory } from '../../support/plain-memory.js'

const context = contextWithin(60_000)
const BEFORE = { id: 'before', content: 'what was there before', embedding: [1, 0, 0, 0] }

/** A built-in store as it is served on its own, with a record and so a width in it. */
async function openServer(options: Partial<StoreOptions> = {}): Promise<Memory> {
  const whole: StoreOptions = {
    path: ':memory:',
    events: { keep: 1000 },
    ...options,
  }
  const newId = createIds(Date.now, randomBytes)
  const store = openStore(whole, { clock: systemClock, newId })
  const summaries = {
    summarizer: createExtractor(new Tokenizer()),
    tiers: async () => [],
    longestContent: () => Infinity,
  }
  const scoped = withScope(withDigest(store, { promptModel: undefined, summaries }), 'deny')
  const contractFor = storeContract(whole)
  const served = withContract(scoped, (call) => {
    const contract = contractFor(call)
    const capabilities = new Set([...contract.capabilities, 'summarize', 'prompt'] as const)
    return { ...contract, capabilities }
  })
  const memory = createLoopback(served, gatewayContext)
  onTestFinished(() => memory.close())
  await memory.call('memory/remember', { records: [BEFORE] }, context)
  return memory
}

function probing(memory: Memory, over: Partial<ProbeOptions> = {}) {
  return probe({
    upstream: 'store',
    memory,
    owners: 'parameter',
    line: 'request-reply',
    mark: 'a2m-probe-0123',
    context: () => context,
    cleaning: () => context,
    ...over,
  })
}

async function everything(memory: Memory): Promise<string[]> {
  const { records } = await memory.call('memory/timeline', { limit: 0 }, context)
  return records.map(({ id }) => id)
}

test('of a store of our own all is true, all is tried, and nothing is left', async () => {
  const memory = await openServer()
  const report = await probing(memory)
  expect(report).toMatchObject({ untrue: [], untried: [], left: undefined, stopped: false })
  expect(report.capabilities).toEqual(CAPABILITIES)
  expect(report.tried).toBeGreaterThan(100)
  expect(await everything(memory)).toEqual(['before'])
})

test('where owners are not used, they are not tried', async () => {
  const memory = await openServer()
  const report = await probing(memory, { owners: 'none' })
  expect(report).toMatchObject({
    untrue: [],
    untried: [{ capability: 'scopes', reason: 'configured with owner: none' }],
    left: undefined,
  })
  expect(await everything(memory)).toEqual(['before'])
})

test('what could do harm is left alone', async () => {
  const memory = liar(await openServer(), {
    'memory/describe': async (params, honest) => ({
      ...(await honest(params)),
      embeddings: { dimensions: null, metric: 'cosine' },
      summarize: { model: 'costly' },
    }),
  })
  const asked: [string, object][] = []
  const watched: Memory = {
    call(method, params, call) {
      asked.push([method, params])
      return memory.call(method, params, call)
    },
    close: () => memory.close(),
  }
  const report = await probing(watched)
  expect(report.untried).toEqual([
    { capability: 'embeddings', reason: expect.stringContaining('fix its width') },
    { capability: 'summarize', reason: 'it would ask the model costly' },
  ])
  const methods = new Set(asked.map(([method]) => method))
  expect(methods).not.toContain('memory/consolidate')
  expect(methods).not.toContain('memory/summarize')
  for (const [method, params] of asked) {
    if (method === 'memory/forget') expect(params).toSatisfy(selects)
  }
})

function selects(params: { ids?: readonly string[]; key_prefix?: string }): boolean {
  return (params.ids?.length ?? 0) > 0 || (params.key_prefix?.length ?? 0) > 0
}

type Change = (record: MemoryRecord) => MemoryRecord

/** Every record that is read is another than the one that is kept. */
function reads(change: Change): Lie {
  return {
    'memory/recall': async (params, honest) => {
      const result = await honest(params)
      return { ...result, records: result.records.map(change) }
    },
    'memory/timeline': async (params, honest) => {
      const result = await honest(params)
      return { ...result, records: result.records.map(change) }
    },
    'memory/fetch': async (params, honest) => {
      const { record } = await honest(params)
      return { record: record && change(record) }
    },
  }
}

/** Entries are written otherwise than they were given. */
function writes(change: (entry: Parameters<Change>[0]) => object): Lie {
  return {
    'memory/remember': (params, honest) =>
      honest({
        ...params,
        records: params.records.map((entry) => change(entry as MemoryRecord) as MemoryRecord),
      }),
  }
}

/** Describe says something else. */
function says(change: (told: Description) => Partial<Description>): Lie {
  return {
    'memory/describe': async (params, honest) => {
      const told = await honest(params)
      return { ...told, ...change(told) }
    },
  }
}

const without =
  (...names: readonly (keyof MemoryRecord)[]) =>
  (record: MemoryRecord): MemoryRecord => {
    const copy: Record<string, unknown> = { ...record }
    for (const name of names) delete copy[name]
    return copy as unknown as MemoryRecord
  }

const LIES: readonly (readonly [string, Lie, string])[] = [
  [
    'loses metadata',
    writes((entry) => ({
      ...entry,
      metadata: JsonText.of({ ...(entry.metadata?.value() as object), nested: 1 }),
    })),
    'metadata comes back unchanged',
  ],
  ['loses roles', reads(without('role')), 'role comes back'],
  ['loses groups', reads(without('group')), 'group comes back'],
  [
    'trims content',
    reads((record) => ({ ...record, content: record.content.slice(0, 5) })),
    'content comes back',
  ],
  [
    'writes times its own way',
    reads((record) => ({ ...record, created_at: record.created_at.replace('Z', '+00:00') })),
    'created_at is in UTC with milliseconds',
  ],
  [
    'numbers records itself',
    writes(without('id')),
    'an id that the caller gives is the id of the record, in order',
  ],
  [
    'answers ids in another order',
    {
      'memory/remember': async (params, honest) => ({
        ids: (await honest(params)).ids.toReversed(),
      }),
    },
    'an id that the caller gives is the id of the record, in order',
  ],
  [
    'ranks backwards',
    {
      'memory/recall': async (params, honest) => ({
        records: (await honest(params)).records.toReversed(),
      }),
    },
    'scores descend',
  ],
  [
    'ignores the limit',
    { 'memory/recall': (params, honest) => honest({ ...params, limit: 0 }) },
    'recall gives no more than asked for',
  ],
  [
    'takes no list in where',
    {
      'memory/recall': (params, honest) =>
        honest(
          Object.values(params.where ?? {}).some(Array.isArray)
            ? { ...params, where: { role: 'none' } }
            : params,
        ),
    },
    'where takes any of several values',
  ],
  [
    'needs a query',
    {
      'memory/recall': async (params, honest) => (params.query ? honest(params) : { records: [] }),
    },
    'recall without a query is answered',
  ],
  [
    'refuses what it does not know',
    {
      'memory/recall': async (params, honest) => {
        if ('colour' in params) throw new A2mError('INVALID_PARAMS', 'colour')
        return honest(params)
      },
    },
    'memory/recall is answered',
  ],
  [
    'tells time backwards',
    {
      'memory/timeline': async (params, honest) => ({
        records: (await honest(params)).records.toReversed(),
      }),
    },
    'timeline is the oldest first',
  ],
  [
    'cuts off the newest',
    {
      'memory/timeline': async (params, honest) => ({
        records: (await honest({ ...params, limit: 0 })).records.slice(
          0,
          params.limit || undefined,
        ),
      }),
    },
    'a limit of timeline takes the newest',
  ],
  [
    'miscounts what it forgets',
    {
      'memory/forget': async (params, honest) => ({
        forgotten: (await honest(params)).forgotten + 1,
      }),
    },
    'forget counts what it removed',
  ],
  [
    'speaks any version',
    {
      'memory/describe': async ({ protocol = 'a2m/0.1' }, honest) => ({
        ...(await honest({})),
        protocol,
      }),
    },
    'it does not pretend to speak another version',
  ],
  [
    'does not name its methods',
    says(({ methods }) => ({ methods: methods.slice(1) })),
    'the methods of what is declared are all named',
  ],
  [
    'does not keep to its limits',
    says(() => ({ limits: { max_records_per_call: 3 } })),
    'max_records_per_call is enforced',
  ],
  [
    'can more than it says',
    says(({ capabilities, methods }) => ({
      capabilities: capabilities.filter((one) => one !== 'sessions'),
      methods: methods.filter((one) => !one.includes('session')),
    })),
    'memory/session/list, which is not declared, is refused as such',
  ],
  [
    'puts everything into one tier',
    writes((entry) => ({ ...entry, ...(entry.tier === undefined ? {} : { tier: 'working' }) })),
    'a record written to episodic is in it',
  ],
  [
    'takes any tier',
    writes((entry) => ({
      ...entry,
      ...(entry.tier?.startsWith('a2m') ? { tier: 'working' } : {}),
    })),
    'a write to an unknown tier is refused',
  ],
  [
    'reads all tiers',
    { 'memory/timeline': ({ tier: _, ...params }, honest) => honest(params) },
    'memory/timeline of episodic gives nothing else',
  ],
  [
    'promotes nothing',
    { 'memory/promote': async () => ({ promoted: 1 }) },
    'a promoted record is where it was promoted to',
  ],
  [
    'makes moved records young',
    {
      ...reads((record) =>
        record.tier === 'episodic' ? { ...record, created_at: new Date().toISOString() } : record,
      ),
    },
    'and as old as it was',
  ],
  [
    'reinforces nothing',
    { 'memory/reinforce': async ({ ids }) => ({ reinforced: ids.length - 1 }) },
    'reinforce raises the salience',
  ],
  [
    'shows everybody everything',
    { 'memory/recall': ({ owner: _, ...params }, honest) => honest(params) },
    'and nobody else does',
  ],
  [
    'lets anybody forget',
    { 'memory/forget': ({ owner: _, ...params }, honest) => honest(params) },
    'another owner cannot forget them',
  ],
  [
    'closes by forgetting',
    {
      'memory/session/close': async (params, honest, call, context) => {
        const told = await honest(params)
        await call('memory/forget', { where: { session: params.session } }, context)
        return told
      },
    },
    'a close loses nothing',
  ],
  [
    'has no default session',
    { 'memory/remember': ({ session: _, ...params }, honest) => honest(params) },
    'a session named for the whole write is that of its records',
  ],
  [
    'lists no sessions',
    { 'memory/session/list': async () => ({ sessions: [] }) },
    'a session is listed with its number of records',
  ],
  [
    'appends to keys',
    (() => {
      const used = new Set<string>()
      return writes(({ key, ...entry }) => {
        if (key === undefined || used.has(`${entry.owner} ${key}`)) return entry
        used.add(`${entry.owner} ${key}`)
        return { ...entry, key }
      })
    })(),
    'and replaces the content',
  ],
  [
    'does not count revisions',
    reads((record) => ({ ...record, ...(record.key === undefined ? {} : { revision: 0 }) })),
    'and adds one to the revision',
  ],
  [
    'knows no prefixes',
    { 'memory/timeline': (params, honest) => honest({ ...params, key_prefix: undefined }) },
    'a prefix of memory/timeline is of what is at and beneath it',
  ],
  [
    'rounds vectors',
    reads((record) => ({
      ...record,
      ...(record.embedding === undefined ? {} : { embedding: record.embedding.map(Math.fround) }),
    })),
    'a vector comes back as it was',
  ],
  [
    'always tells vectors',
    { 'memory/recall': (params, honest) => honest({ ...params, embeddings: true }) },
    'vectors are not told unless asked for',
  ],
  [
    'takes vectors of any width',
    writes((entry) => ({
      ...entry,
      ...(entry.embedding === undefined ? {} : { embedding: entry.embedding.slice(0, 4) }),
    })),
    'a vector of another width is refused',
  ],
  [
    'tidies up references',
    reads((record) => ({
      ...record,
      ...(record.uri === undefined ? {} : { uri: decodeURI(record.uri) }),
    })),
    'a uri comes back unchanged',
  ],
  [
    'tells events twice',
    {
      'memory/events': async (params, honest) => {
        const told = await honest(params)
        return { ...told, events: told.events.flatMap((event) => [event, event]) }
      },
    },
    'each write is told once, in order',
  ],
  [
    'forgets its cursors',
    (() => {
      let first: string | undefined
      return {
        'memory/events': async (params, honest) => {
          first ??= params.cursor
          return honest({ ...params, ...(params.cursor === undefined ? {} : { cursor: first }) })
        },
      } satisfies Lie
    })(),
    'and not again after its cursor',
  ],
  [
    'promises push over HTTP',
    says(() => ({ events: { push: true } })),
    'push is not promised over HTTP',
  ],
  [
    'has no budget',
    {
      'memory/recall': (params, honest) =>
        honest({
          ...params,
          ...(typeof params.prompt === 'object'
            ? { prompt: { ...params.prompt, budget: undefined } }
            : {}),
        }),
    },
    'a budget of 0 leaves nothing',
  ],
  [
    'recalls less with a prompt',
    {
      'memory/recall': async (params, honest) => {
        const told = await honest(params)
        return params.prompt ? { ...told, records: told.records.slice(1) } : told
      },
    },
    'records are the same with a prompt',
  ],
  [
    'summarizes by forgetting',
    {
      'memory/summarize': async (params, honest, call, context) => {
        const told = await honest(params)
        await call('memory/forget', { ids: params.ids }, context)
        return told
      },
    },
    'a summary leaves its sources',
  ],
  [
    'fails',
    { 'memory/promote': () => Promise.reject(new Fault('bad_reply', 'not JSON')) },
    'memory/promote is answered',
  ],
]

test.each(LIES)('a store that %s is found out', async (_, lie, claim) => {
  const memory = await openServer()
  const report = await probing(liar(memory, lie))
  expect(report.untrue.map((one) => one.claim)).toContain(claim)
  expect(report.left).toBeUndefined()
  expect(await everything(memory)).toEqual(['before'])
})

test('what cannot be removed is told', async () => {
  const memory = await openServer()
  const report = await probing(liar(memory, { 'memory/forget': async () => ({ forgotten: 1 }) }))
  expect(report.untrue.map(({ claim }) => claim)).toContain(
    'forget removes what was named, and nothing else',
  )
  const left = (await everything(memory)).filter((id) => id !== 'before')
  expect(left.length).toBeGreaterThan(0)
  expect(report.left?.reason).toContain('still gives them')
  const failing = liar(await openServer(), {
    'memory/forget': () => Promise.reject(new Fault('timeout', 'too slow')),
  })
  const { left: all } = await probing(failing)
  expect(all?.reason).toContain('too slow')
  expect(all?.ids.length).toBeGreaterThan(10)
})

test('a probe that is stopped clears up', async () => {
  const memory = await openServer()
  const stop = new Cancellation()
  let calls = 0
  const report = await probing(
    {
      async call(method, params, call) {
        if (call.cancellation.cancelled) throw new Fault('cancelled', 'stopped')
        if (++calls === 40) stop.cancel()
        return memory.call(method, params, call)
      },
      close: () => memory.close(),
    },
    { context: () => ({ ...context, cancellation: stop }) },
  )
  expect(report).toMatchObject({ stopped: true, left: undefined })
  expect(await everything(memory)).toEqual(['before'])
})

test('a store that takes no writes is held to that', async () => {
  const readOnly = new PlainMemory({ readOnly: true })
  expect(await probing(readOnly)).toMatchObject({ tried: 3, untrue: [], left: undefined })
  const torn = liar(readOnly, { 'memory/forget': async () => ({ forgotten: 0 }) })
  expect((await probing(torn)).untrue).toMatchObject([
    { claim: 'forget is refused as remember is' },
  ])
})

test('a store of somebody else’s is tried in what it declares, and no more', async () => {
  const plain = new PlainMemory({ limits: { max_recall_limit: 30 } })
  const report = await probing(plain)
  const told = report.untrue.map(({ claim }) => claim)
  expect(told).toEqual([
    'memory/promote, which is not declared, is refused as such',
    'a tier, where none are declared, is refused',
  ])
  expect(report.left).toBeUndefined()
  expect(plain.records).toEqual([])
})
