import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { JsonText } from '../../../src/protocol/json.js'
import type { Memory } from '../../../src/protocol/memory.js'
import type { Capability } from '../../../src/protocol/methods.js'
import type { Entry, MemoryRecord } from '../../../src/protocol/records.js'
import { formatInstant } from '../../../src/protocol/time.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'
import { lesserStore } from '../../support/lesser-store.js'

const CORE: readonly Capability[] = ['core', 'tiers', 'scopes']
const FULL: readonly Capability[] = [
  'core',
  'tiers',
  'salience',
  'scopes',
  'sessions',
  'keys',
  'embeddings',
  'external',
]
const alice = () => ownerContext('alice', { deadline: Number.POSITIVE_INFINITY })
const everyone = () => anyContext({ deadline: Number.POSITIVE_INFINITY })

interface Fixture extends TestFederation {
  /** Where records begin, and are read back whole. */
  readonly store: Memory
  readonly tiers: readonly string[]
}

const open: Fixture[] = []
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close()
})

type Kind = 'extended' | 'full' | 'core'

/** A tier on each of some stores, the first of which is the one that is read back. */
async function fixture(kinds: readonly [Kind, ...Kind[]]): Promise<Fixture> {
  const stores = kinds.map((kind, index) => {
    const tier = `${kind}-${index}`
    const store = embeddedStore({ path: ':memory:', tiers: [tier] })
    if (kind === 'extended') return { tier, store }
    return { tier, store: lesserStore(store, kind === 'full' ? FULL : CORE) }
  })
  const opened = await openFederation({
    upstreams: Object.fromEntries(stores.map(({ tier, store }) => [tier, { memory: store }])),
    tiers: stores.map(({ tier }) => tierConfig(tier, tier)),
  })
  const [first] = stores
  if (first === undefined) throw new Error('no store')
  const made = { ...opened, store: first.store, tiers: stores.map(({ tier }) => tier) }
  open.push(made)
  return made
}

const START = Date.UTC(2026, 0, 1)

interface Seed {
  readonly entry: Entry
  readonly revision: number
  readonly access_count: number
}

/** A record that nothing was ever said of. */
const PLAIN: Seed = { entry: { content: 'plain' }, revision: 0, access_count: 0 }

const double = fc.double({ noNaN: true, noDefaultInfinity: true })
const seed: fc.Arbitrary<Seed> = fc.record({
  entry: fc.record(
    {
      content: fc.string({ minLength: 1, maxLength: 20 }),
      role: fc.constantFrom('user', 'tool'),
      session: fc.constantFrom('monday', 'tuesday', '__proto__'),
      group: fc.constantFrom('g1', 'g2'),
      salience: fc.double({ min: 0, max: 9, noNaN: true }),
      embedding: fc.array(fc.oneof(double, fc.constant(-0)), { minLength: 3, maxLength: 3 }),
      uri: fc.constantFrom('https://127.0.0.1/a', 'urn:x'),
      media_type: fc.constantFrom('image/png', 'text/plain'),
      metadata: fc
        .constantFrom('{}', '{"n":1.0}', '{"a2m":[9007199254740993]}')
        .map((text) => new JsonText(text)),
    },
    { requiredKeys: ['content'] },
  ),
  revision: fc.nat({ max: 9 }),
  access_count: fc.nat({ max: 9 }),
})

async function write(store: Memory, seeds: readonly Seed[]): Promise<void> {
  const records = seeds.map(({ entry }, index) => ({
    ...entry,
    id: `r${index}`,
    owner: 'alice',
    ...(index % 2 === 0 ? { key: `k/${index}` } : {}),
  }))
  const carried = seeds.map(({ revision, access_count }, index) => ({
    created_at: formatInstant(START + index * 1000),
    access_count,
    accessed_at: formatInstant(START + index * 2000),
    ...(index % 2 === 0 ? { revision } : {}),
  }))
  await store.call('memory/remember', { records, [EXTENSION]: { carried } }, everyone())
}

async function whole(store: Memory): Promise<MemoryRecord[]> {
  const params = { owner: 'alice', embeddings: true }
  return (await store.call('memory/timeline', params, everyone())).records
}

/** What no store and no move may change; a store that is not told what is no use counts on. */
function lasting({
  tier: _,
  embedding: __,
  access_count: ___,
  accessed_at: ____,
  ...record
}: MemoryRecord) {
  return record
}

async function move({ federation }: Fixture, ids: readonly string[], tier: string): Promise<void> {
  await federation.call('memory/promote', { ids: [...ids], tier }, alice())
}

async function idsOf({ federation }: Fixture, where: Record<string, unknown>): Promise<string[]> {
  const { records } = await federation.call('memory/timeline', { where }, alice())
  return records.map(({ id }) => id)
}

const FIELDS = [
  'session',
  'key',
  'revision',
  'uri',
  'media_type',
  'salience',
  'created_at',
  'role',
] as const

test('every field of records that wander between stores of all kinds is what it was, in where and in order', async () => {
  const hops = fc.array(
    fc.record({
      pick: fc.array(fc.nat({ max: 5 }), { minLength: 1 }),
      tier: fc.constantFrom('extended-0', 'full-1', 'core-2'),
    }),
    { minLength: 1, maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(seed, { minLength: 1, maxLength: 6 }), hops, async (seeds, hops) => {
      const made = await fixture(['extended', 'full', 'core'])
      await write(made.store, seeds)
      const before = await whole(made.store)
      for (const { pick, tier } of hops)
        await move(
          made,
          pick.map((index) => `r${index}`),
          tier,
        )
      const { records } = await made.federation.call('memory/timeline', {}, alice())
      expect(records.map(lasting)).toEqual(before.map(lasting))
      expect(records.every(({ embedding }) => embedding === undefined)).toBe(true)
      for (const field of FIELDS) {
        for (const value of new Set(before.map((record) => record[field] ?? null))) {
          const wanted = before.filter((record) => (record[field] ?? null) === value)
          expect(await idsOf(made, { [field]: value })).toEqual(wanted.map(({ id }) => id))
        }
      }
      const newest = await made.federation.call('memory/timeline', { limit: 2 }, alice())
      expect(newest.records.map(({ id }) => id)).toEqual(before.slice(-2).map(({ id }) => id))
      await move(
        made,
        seeds.map((_, index) => `r${index}`),
        'extended-0',
      )
      const after = await whole(made.store)
      expect(after.map(lasting)).toEqual(before.map(lasting))
      for (const [index, { embedding, access_count = 0 }] of after.entries()) {
        expect(embedding).toStrictEqual(before[index]?.embedding)
        expect(access_count).toBeGreaterThanOrEqual(before[index]?.access_count ?? 0)
      }
      expect(made.state.journal.openMoves()).toEqual([])
      await open.pop()?.close()
    }),
    { numRuns: 25 },
  )
}, 60_000)

test.each(['extended', 'full'] as const)(
  'what is added on arrival at another store, %s, is added once',
  async (kind) => {
    const made = await fixture(['extended', kind])
    const [home = '', away = ''] = made.tiers
    await write(made.store, [
      { entry: { content: 'one', salience: 2 }, revision: 3, access_count: 7 },
      PLAIN,
    ])
    const raise = { ids: ['r0', 'r1'], tier: away, salience: 0.5 }
    expect(await made.federation.call('memory/promote', raise, alice())).toEqual({ promoted: 2 })
    expect(await made.federation.call('memory/promote', raise, alice())).toEqual({ promoted: 0 })
    await move(made, ['r0', 'r1'], home)
    const [first, second] = await whole(made.store)
    expect(first).toMatchObject({ salience: 2.5, revision: 3 })
    expect(second).toMatchObject({ salience: 1.5 })
  },
)

test('what is read for a move or to find a record is no use of it', async () => {
  const made = await fixture(['extended', 'extended'])
  await write(made.store, [{ entry: { content: 'one' }, revision: 3, access_count: 7 }])
  const [home = '', away = ''] = made.tiers
  for (const tier of [away, home, away, home]) await move(made, ['r0'], tier)
  expect(await whole(made.store)).toMatchObject([
    { access_count: 7, accessed_at: formatInstant(START), revision: 3 },
  ])
})

test.each(['extended', 'full'] as const)(
  'records of one instant keep their order when they move, %s, all of them or the first',
  async (kind) => {
    const made = await fixture(['extended', kind])
    const [home = '', away = ''] = made.tiers
    const entries = Array.from({ length: 150 }, (_, index) => ({
      content: `${index}`,
      ...(index % 3 === 0 ? { group: `g${index % 5}` } : {}),
    }))
    const { ids } = await made.federation.call('memory/remember', { records: entries }, alice())
    const shown = async () => {
      const { records } = await made.federation.call('memory/timeline', {}, alice())
      return records.map(({ id }) => id)
    }
    await move(made, ids.slice(1, 40), away)
    expect(await shown()).toEqual(ids)
    await move(made, ids.toReversed(), away)
    expect(await shown()).toEqual(ids)
    await move(made, ids.slice(0, 80), home)
    expect(await shown()).toEqual(ids)
  },
)

test('ids of callers say nothing of an order, and keep the places that they have', async () => {
  const made = await fixture(['extended', 'extended'])
  const [, away = ''] = made.tiers
  const records = ['z', 'y', 'x'].map((id) => ({ id, content: id, owner: 'alice' }))
  const carried = records.map(() => ({ created_at: formatInstant(START) }))
  await made.store.call('memory/remember', { records, [EXTENSION]: { carried } }, everyone())
  await move(made, ['x', 'z'], away)
  const shown = await made.federation.call('memory/timeline', {}, alice())
  expect(shown.records.map(({ id }) => id)).toEqual(['y', 'z', 'x'])
})
