import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  allowsMethod,
  covers,
  type Grant,
  isUnder,
  type Place,
} from '../../../src/protocol/access.js'
import { mayCall } from '../../../src/protocol/access-reach.js'
import { checkParams } from '../../../src/protocol/checks.js'
import { CODES, toA2mError } from '../../../src/protocol/errors.js'
import type { Context } from '../../../src/protocol/memory.js'
import { METHOD_NAMES, type Method, type ResultOf } from '../../../src/protocol/methods.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { grant, granted } from '../../support/grants.js'
import { PlainMemory } from '../../support/plain-memory.js'

const KEYS = ['wf', 'wf/1', 'wf/1/x', 'wf/10', 'user/city']
const PREFIXES = ['wf', 'wf/1', 'user']
const SESSIONS = ['monday', 'tuesday']

/** A federation, and where each of its tiers lives. Names are such as no text holds by chance. */
interface Setting {
  readonly homes: Readonly<Record<string, string>>
  readonly open: () => Promise<TestFederation>
}

const store = (...tiers: string[]) => ({ memory: embeddedStore({ path: ':memory:', tiers }) })
const spilling = { kind: 'working', capacity: 3, spillTo: 'tier_e' }

const BUILT_IN: Setting = {
  homes: { tier_w: 'up_alpha', tier_e: 'up_alpha', tier_s: 'up_beta' },
  open: () =>
    openFederation({
      places: 'kept',
      upstreams: { up_alpha: store('tier_w', 'tier_e'), up_beta: store('tier_s') },
      tiers: [
        tierConfig('tier_w', 'up_alpha', spilling),
        tierConfig('tier_e', 'up_alpha', {
          kind: 'episodic',
          promoteTo: 'tier_s',
          promoteAfter: 1,
        }),
        tierConfig('tier_s', 'up_beta', { kind: 'semantic' }),
      ],
    }),
}

const OTHERS: Setting = {
  homes: { tier_w: 'up_alpha', tier_e: 'up_gamma', tier_s: 'up_beta' },
  open: () =>
    openFederation({
      places: 'kept',
      upstreams: {
        up_alpha: store('tier_w'),
        up_beta: store('tier_s'),
        up_gamma: { memory: new PlainMemory({ capabilities: ['core', 'scopes', 'keys'] }) },
      },
      tiers: [
        tierConfig('tier_w', 'up_alpha', spilling),
        tierConfig('tier_e', 'up_gamma', { kind: 'episodic' }),
        tierConfig('tier_s', 'up_beta', { kind: 'semantic' }),
      ],
    }),
}

function someOf<T>(...all: readonly T[]) {
  const some = fc.subarray([...all], { minLength: 1 })
  return fc.oneof(fc.constant(undefined), some)
}
const TIERS = ['tier_w', 'tier_e', 'tier_s']
const anyGrant: fc.Arbitrary<Grant> = fc
  .record({
    methods: fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.subarray([...METHOD_NAMES], { minLength: 5 }) },
    ),
    tiers: someOf(...TIERS),
    upstreams: someOf('up_alpha', 'up_beta', 'up_gamma'),
    keyPrefixes: someOf(...PREFIXES),
    access: fc.constantFrom('write' as const, 'write' as const, 'read' as const),
  })
  .map(({ methods, tiers, upstreams, ...rest }) =>
    grant({
      ...rest,
      methods: methods && new Set(methods),
      tiers: tiers && new Set(tiers),
      upstreams: upstreams && new Set(upstreams),
    }),
  )
const anyAccess = fc
  .array(anyGrant, { minLength: 1, maxLength: 3 })
  .map((grants) => grants.map((one, index) => ({ ...one, role: `role ${index}` })))

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const anyEntry = fc.record({
  tier: fc.constantFrom(...TIERS),
  key: optional(fc.constantFrom(...KEYS)),
  session: optional(fc.constantFrom(...SESSIONS)),
  group: optional(fc.constantFrom('g', 'h')),
})
const anyEntries = fc.array(anyEntry, { minLength: 4, maxLength: 10 })

/** The grants by which something may be done, each by itself. */
class Oracle {
  readonly access: readonly Grant[]
  readonly #homes: Setting['homes']

  constructor(access: readonly Grant[], homes: Setting['homes']) {
    this.access = access
    this.#homes = homes
  }

  covers(method: Method, place: Place): boolean {
    return this.access.some((one) => allowsMethod(one, method) && covers(one, place))
  }

  reaches(method: Method, record: MemoryRecord): boolean {
    return this.covers(method, this.placeOf(record))
  }

  placeOf({ tier = '', key }: MemoryRecord): Place {
    return { tier, upstream: this.#homes[tier], key }
  }

  tiersFor(method: Method): string[] {
    return TIERS.filter((tier) => this.covers(method, { tier, upstream: this.#homes[tier] }))
  }

  /** Names that no answer may hold. */
  hidden(): string[] {
    const tiers = this.tiersFor('memory/describe')
    const upstreams = new Set(tiers.map((tier) => this.#homes[tier]))
    const others = Object.values(this.#homes).filter((upstream) => !upstreams.has(upstream))
    return [...TIERS.filter((tier) => !tiers.includes(tier)), ...others]
  }
}

class Caller {
  readonly #federation: TestFederation['federation']
  readonly #context: () => Context
  /** All that it was told. */
  told = ''

  constructor({ federation }: TestFederation, context: () => Context) {
    this.#federation = federation
    this.#context = context
  }

  async call<M extends Method>(method: M, params: object = {}): Promise<ResultOf<M>> {
    try {
      const checked = checkParams(method, params)
      const result = await this.#federation.call(method, checked, this.#context())
      this.told += JSON.stringify(result)
      return result
    } catch (thrown) {
      const { message, data } = toA2mError(thrown)
      this.told += JSON.stringify([message, data])
      throw thrown
    }
  }

  /** The code of the error, or 0. */
  async code(method: Method, params: object = {}): Promise<number> {
    return this.call(method, params).then(
      () => 0,
      (thrown: unknown) => toA2mError(thrown).code,
    )
  }
}

const idsOf = (records: readonly MemoryRecord[]) => records.map(({ id }) => id)
/** Records of one instant are in no order that is promised. */
const madeAt = ({ created_at }: MemoryRecord) => created_at
const sorted = (ids: Iterable<string>) => [...ids].toSorted()

interface Scene {
  readonly everything: Caller
  readonly bounded: Caller
  readonly oracle: Oracle
  readonly all: readonly MemoryRecord[]
  readonly cursor: string
}

async function scene(
  { open, homes }: Setting,
  access: readonly Grant[],
  entries: readonly object[],
  act: (scene: Scene) => Promise<void>,
): Promise<void> {
  const opened = await open()
  try {
    const everything = new Caller(opened, () => ownerContext('anna'))
    const bounded = new Caller(opened, granted(access, { kind: 'owners', owners: ['anna'] }))
    const { cursor } = await everything.call('memory/events')
    for (const [index, entry] of entries.entries()) {
      await everything.call('memory/remember', {
        records: [{ ...entry, content: `apple ${index}` }],
      })
    }
    const { records: all } = await everything.call('memory/timeline')
    await act({ everything, bounded, oracle: new Oracle(access, homes), all, cursor })
  } finally {
    await opened.close()
  }
}

/** Runs what only a caller that may call the method can be held to; the others are refused. */
async function ifAllowed(
  { bounded, oracle }: Scene,
  method: Method,
  params: object,
  then: () => Promise<void>,
): Promise<void> {
  if (mayCall(oracle.access, method)) return then()
  expect(await bounded.code(method, params)).toBe(CODES.SCOPE_DENIED)
}

async function readsItsOwn(scene: Scene): Promise<void> {
  const { bounded, oracle, all } = scene
  const seen = (method: Method) => all.filter((record) => oracle.reaches(method, record))
  await ifAllowed(scene, 'memory/timeline', {}, async () => {
    const own = seen('memory/timeline')
    const whole = await bounded.call('memory/timeline')
    expect(sorted(idsOf(whole.records))).toEqual(sorted(idsOf(own)))
    const { records, prompt_ids } = await bounded.call('memory/timeline', { limit: 2, prompt: {} })
    expect(records.map(madeAt)).toEqual(own.map(madeAt).slice(-2))
    expect(idsOf(own)).toEqual(expect.arrayContaining([...idsOf(records), ...(prompt_ids ?? [])]))
  })
  await ifAllowed(scene, 'memory/recall', {}, async () => {
    const own = idsOf(seen('memory/recall'))
    const { records } = await bounded.call('memory/recall', { query: 'apple', limit: 3 })
    expect(records).toHaveLength(Math.min(3, own.length))
    expect(own).toEqual(expect.arrayContaining(idsOf(records)))
    const whole = await bounded.call('memory/recall', { query: 'apple', limit: 0 })
    expect(sorted(idsOf(whole.records))).toEqual(sorted(own))
  })
  await ifAllowed(scene, 'memory/fetch', { key: 'wf' }, () => fetchesItsOwn(scene))
  const { tiers = [] } = await bounded.call('memory/describe')
  const counts = oracle.tiersFor('memory/describe').map((name) => {
    const here = seen('memory/describe').filter(({ tier }) => tier === name)
    return { name, count: here.length }
  })
  expect(tiers.map(({ name, count }) => ({ name, count }))).toEqual(counts)
}

async function fetchesItsOwn({ bounded, oracle, all }: Scene): Promise<void> {
  for (const key of KEYS) {
    const named = TIERS.some((tier) => oracle.reaches('memory/fetch', { ...RECORD, tier, key }))
    if (!named) {
      expect(await bounded.code('memory/fetch', { key })).toBe(CODES.SCOPE_DENIED)
      continue
    }
    const found = all.find((one) => one.key === key && oracle.reaches('memory/fetch', one))
    const { record } = await bounded.call('memory/fetch', { key })
    expect(record?.id).toBe(found?.id)
  }
}

const RECORD = { id: 'any', content: '', created_at: '2030-01-01T00:00:00.000Z' }

async function namesTiers({ bounded, oracle }: Scene): Promise<void> {
  if (!mayCall(oracle.access, 'memory/timeline')) return
  const known = oracle.tiersFor('memory/describe')
  const readable = oracle.tiersFor('memory/timeline')
  for (const tier of TIERS) {
    const told = bounded.told
    const unknown = [CODES.SCOPE_DENIED, 0][Number(readable.includes(tier))]
    const expected = known.includes(tier) ? unknown : CODES.UNKNOWN_TIER
    expect(await bounded.code('memory/timeline', { tier })).toBe(expected)
    const nowhere = await bounded.code('memory/timeline', { where: { tier } })
    expect(nowhere).toBe(0)
    if (!known.includes(tier)) bounded.told = told
  }
}

async function hearsOfItsOwn(scene: Scene): Promise<void> {
  const { bounded, everything, oracle, cursor } = scene
  await ifAllowed(scene, 'memory/events', { cursor }, async () => {
    const events = await everything.call('memory/events', { cursor, limit: 0 })
    const heard = await bounded.call('memory/events', { cursor, limit: 0 })
    expect(heard.events).toEqual(events.events.filter((event) => wasThere(oracle, event)))
  })
}

/** A record at a key may have been in another tier before: an event is about where it was then. */
function wasThere(oracle: Oracle, event: Readonly<Record<string, unknown>>): boolean {
  const { tier, key } = event
  return oracle.reaches('memory/events', {
    ...RECORD,
    tier: String(tier),
    key: typeof key === 'string' ? key : undefined,
  })
}

describe.each([
  ['built-in stores', BUILT_IN],
  ['a store of others too', OTHERS],
])('over %s', (_, setting) => {
  test('nothing beyond its roles is read, counted, told of or named to a caller', async () => {
    await fc.assert(
      fc.asyncProperty(anyAccess, anyEntries, async (access, entries) => {
        await scene(setting, access, entries, async (seen) => {
          await readsItsOwn(seen)
          await namesTiers(seen)
          await hearsOfItsOwn(seen)
          for (const name of seen.oracle.hidden()) expect(seen.bounded.told).not.toContain(name)
        })
      }),
      { numRuns: 20 },
    )
  }, 120_000)

  const anyWrite = fc.oneof(
    fc.record({
      method: fc.constant('memory/remember' as const),
      params: fc.record({
        records: fc.array(
          fc.record({
            content: fc.constant('pear'),
            tier: optional(fc.constantFrom(...TIERS)),
            key: optional(fc.constantFrom(...KEYS)),
            group: optional(fc.constantFrom('g')),
          }),
          { minLength: 1, maxLength: 3 },
        ),
      }),
    }),
    fc.record({
      method: fc.constant('memory/forget' as const),
      params: fc.oneof(
        fc.record({ query: fc.constant('apple') }),
        fc.record({ tier: fc.constantFrom(...TIERS) }),
        fc.record({ where: fc.record({ group: fc.constant('g') }) }),
        fc.record({ ids: fc.constant('all' as const) }),
        fc.record({ key_prefix: fc.constantFrom(...PREFIXES) }),
      ),
    }),
    fc.record({
      method: fc.constant('memory/promote' as const),
      params: fc.record({ ids: fc.constant('all' as const), tier: fc.constantFrom(...TIERS) }),
    }),
    fc.record({ method: fc.constant('memory/consolidate' as const), params: fc.constant({}) }),
    fc.record({
      method: fc.constant('memory/session/close' as const),
      params: fc.record({ session: fc.constantFrom(...SESSIONS) }),
    }),
    fc.record({
      method: fc.constant('memory/reinforce' as const),
      params: fc.record({ ids: fc.constant('all' as const) }),
    }),
    fc.record({
      method: fc.constant('memory/summarize' as const),
      params: fc.record({ tier: fc.constantFrom(...TIERS), into: fc.constantFrom(...TIERS) }),
    }),
  )

  test('nothing beyond its roles is written, moved or deleted by a caller, and no group is split', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyAccess,
        anyEntries,
        fc.array(anyWrite, { minLength: 1, maxLength: 5 }),
        async (access, entries, writes) => {
          await scene(setting, access, entries, async (seen) => {
            for (const write of writes) await keepsToItsOwn(seen, write)
            for (const name of seen.oracle.hidden()) expect(seen.bounded.told).not.toContain(name)
          })
        },
      ),
      { numRuns: 25 },
    )
  }, 120_000)
})

async function keepsToItsOwn(
  { bounded, everything, oracle }: Scene,
  { method, params }: { readonly method: Method; readonly params: object },
): Promise<void> {
  const before = (await everything.call('memory/timeline')).records
  const given = 'ids' in params ? { ...params, ids: idsOf(before) } : params
  const told = bounded.told
  const code = await bounded.code(method, given)
  if (code === CODES.UNKNOWN_TIER) bounded.told = told
  if (!mayCall(oracle.access, method)) expect(code).not.toBe(0)
  expect([0, ...Object.values(CODES)]).toContain(code)
  const after = new Map(
    (await everything.call('memory/timeline')).records.map((one) => [one.id, one]),
  )
  for (const record of before) staysWithin(oracle, method, record, after.get(record.id))
  movesWhole(method, before, after)
  const known = new Set(idsOf(before))
  const made = [...after.values()].filter(({ id }) => !known.has(id))
  for (const record of made) expect(oracle.reaches(method, record)).toBe(true)
  const keys = [...after.values()].flatMap(({ key }) => key ?? [])
  expect(new Set(keys).size).toBe(keys.length)
}

function staysWithin(
  oracle: Oracle,
  method: Method,
  record: MemoryRecord,
  now: MemoryRecord | undefined,
): void {
  if (!oracle.reaches(method, record)) expect(standing(now)).toEqual(standing(record))
  else if (now !== undefined && now.tier !== record.tier) {
    expect(oracle.reaches(method, now)).toBe(true)
  }
}

/**
 * Where one of a group has gone, all are that were of it. Only a store that writes a record into a group brings what it has of that
 * group together, wherever others have more of it.
 */
function movesWhole(
  method: Method,
  before: readonly MemoryRecord[],
  after: ReadonlyMap<string, MemoryRecord>,
): void {
  for (const { id, tier, group } of before) {
    const now = after.get(id)
    if (group === undefined || now === undefined || now.tier === tier) continue
    const members = before.filter((one) => one.group === group)
    const apart = new Set(members.map((one) => one.tier)).size > 1
    if (apart && method === 'memory/remember') continue
    const tiers = members.flatMap((one) => after.get(one.id)?.tier ?? [])
    expect(new Set(tiers)).toEqual(new Set([now.tier]))
  }
}

/** All that is not merely use. */
function standing(record: MemoryRecord | undefined): unknown {
  if (record === undefined) return undefined
  const { id, content, tier, key, revision, group, session, created_at } = record
  return { id, content, tier, key, revision, group, session, created_at }
}

test('a prefix that is granted is what the oracle takes it for', () => {
  expect(KEYS.filter((key) => isUnder(key, ['wf/1']))).toEqual(['wf/1', 'wf/1/x'])
})
