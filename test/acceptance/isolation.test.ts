import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { Client, createMarks, type OwnerName, type Subject, type Traits } from './subject.js'
import { OWNER_MODES, type OwnerMode } from './subjects/owner-modes.js'

const IDS = ['one', 'two', 'three', 'four']
/** Tiers that every mode has. */
const TIERS = ['working', 'episodic', 'semantic'] as const

const newId = createMarks('request')

const owner = fc.constantFrom('anna', 'ben')
const id = fc.constantFrom(...IDS)
const tier = fc.constantFrom(...TIERS)
const whose = fc.record(
  { owner: fc.oneof(owner, fc.array(owner), fc.constant(null)) },
  { requiredKeys: [] },
)
/** Mostly absent, since what names another is refused and then does nothing. */
function rarely<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
}
/** Everything by which a caller could name somebody else. */
const naming = {
  owner: rarely(owner),
  where: fc.oneof(
    rarely(whose),
    fc.record({ id: fc.array(id) }),
    fc.record({ group: fc.constant('g') }),
  ),
  'a2m-gateway': fc.record({ owner: fc.option(owner) }, { requiredKeys: [] }),
}
const entry = fc.record(
  {
    id,
    content: fc.constantFrom('apple', 'pear'),
    group: fc.constant('g'),
    tier,
    owner: rarely(owner),
  },
  { requiredKeys: ['content'] },
)

interface Operation {
  readonly method: string
  readonly params: object
}

const optional = { requiredKeys: [] as never[] }
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .record({
      records: fc.array(entry, { minLength: 1, maxLength: 3 }),
      owner: rarely(owner),
      'a2m-gateway': naming['a2m-gateway'],
    })
    .map((params) => ({ method: 'memory/remember', params })),
  fc
    .record({ ...naming, ids: fc.array(id), query: fc.constant('apple'), tier }, optional)
    .map((params) => ({ method: 'memory/forget', params })),
  fc
    .record({
      ids: fc.array(id),
      tier,
      owner: rarely(owner),
      'a2m-gateway': naming['a2m-gateway'],
    })
    .map((params) => ({ method: 'memory/promote', params })),
  fc
    .record({ owner: rarely(owner), 'a2m-gateway': naming['a2m-gateway'] }, optional)
    .map((params) => ({ method: 'memory/consolidate', params })),
  fc
    .tuple(
      fc.constantFrom('memory/recall', 'memory/timeline', 'memory/describe'),
      fc.record({ ...naming, query: fc.constant('pear'), tier }, optional),
    )
    .map(([method, params]) => ({ method, params })),
)

interface State {
  readonly records: readonly MemoryRecord[]
  readonly counts: readonly number[]
}

/** A move waits until it has been told which records went out before, as their uses are told after the answer. */
async function stateOf(client: Client): Promise<State> {
  await client.call('memory/promote', { ids: [], tier: TIERS[0] })
  const { records } = await client.call('memory/timeline', { limit: 0 })
  const { tiers = [] } = await client.call('memory/describe')
  return { records, counts: tiers.map(({ count }) => count) }
}

/** Any error is an answer; what counts is what it did and what it told. */
async function act(client: Client, { method, params }: Operation): Promise<readonly unknown[]> {
  try {
    const result = (await client.request(method, params)) as { records?: readonly unknown[] }
    return result.records ?? []
  } catch {
    return []
  }
}

/** Both begin with records that are alike in everything but their owner; where ids are everybody's, the first has them. */
async function begin(client: Client, tiers: Traits['tiers']): Promise<void> {
  for (const tier of tiers) await client.call('memory/forget', { tier })
  const records = [
    { id: 'one', content: 'apple', group: 'g' },
    { id: 'two', content: 'pear', group: 'g' },
    { id: 'three', content: 'apple', tier: 'semantic' },
  ]
  for (const record of records) {
    await act(client, { method: 'memory/remember', params: { records: [record] } })
  }
}

interface Roles {
  readonly actor: Client
  readonly name: OwnerName
  readonly other: Client
}

/** Lets one act and looks at both; whether anything of the actor's has changed. */
async function step({ actor, name, other }: Roles, what: Operation, mode: OwnerMode) {
  const [before, mine] = [await stateOf(other), await stateOf(actor)]
  const told = await act(actor, what)
  expect(await stateOf(other)).toEqual(before)
  const own = await stateOf(actor)
  for (const record of [...told, ...own.records]) expectMayRead(record, name, mode)
  expect(own.counts.reduce((sum, count) => sum + count, 0)).toBe(own.records.length)
  return JSON.stringify(own) !== JSON.stringify(mine)
}

/** A record is the reader's own, or nobody's and meant for all. */
function expectMayRead(record: unknown, name: OwnerName, { common }: OwnerMode): void {
  const { owner, content } = record as MemoryRecord
  const forAll = owner === undefined && common?.has(content) === true
  expect(forAll ? name : owner).toBe(name)
}

async function withOpen(mode: OwnerMode, task: (subject: Subject) => Promise<void>): Promise<void> {
  const subject = await mode.open()
  try {
    await task(subject)
  } finally {
    await subject.close()
  }
}

test.each(OWNER_MODES.map((mode) => ({ ...mode, mode })))(
  'whatever one caller does, the other neither sees nor feels it: owner by $name',
  async ({ mode }) => {
    const { traits } = mode
    let changes = 0
    await withOpen(mode, async (subject) => {
      const clientOf = (owner: OwnerName) => new Client({ subject, traits, owner, newId })
      const [anna, ben] = [clientOf('anna'), clientOf('ben')]
      const steps = fc.array(fc.tuple(fc.boolean(), operation), { minLength: 1, maxLength: 10 })
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          await Promise.all([begin(anna, traits.tiers), begin(ben, traits.tiers)])
          for (const [byAnna, what] of all) {
            const changed = byAnna
              ? step({ actor: anna, name: 'anna', other: ben }, what, mode)
              : step({ actor: ben, name: 'ben', other: anna }, what, mode)
            if (await changed) changes++
          }
        }),
        { numRuns: 30 },
      )
    })
    expect(changes).toBeGreaterThan(15)
  },
  120_000,
)
