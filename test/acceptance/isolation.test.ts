import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { Client, createMarks, type OwnerName, type Subject } from './subject.js'
import { GATEWAYS, openGateway } from './subjects/gateways.js'

const TIERS = GATEWAYS.tiers
const IDS = ['one', 'two', 'three', 'four']

let subject: Subject | undefined
beforeAll(async () => {
  subject = await openGateway()
}, 60_000)
afterAll(() => subject?.close(), 60_000)

const newId = createMarks('request')
function clientOf(owner: OwnerName): Client {
  if (subject === undefined) throw new Error('the gateway is not open')
  return new Client({ subject, traits: GATEWAYS, owner, newId })
}

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

async function stateOf(client: Client): Promise<State> {
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

/** Both begin with records that are alike in everything but their owner. */
async function begin(client: Client): Promise<void> {
  for (const tier of TIERS) await client.call('memory/forget', { tier })
  const records = [
    { id: 'one', content: 'apple', group: 'g' },
    { id: 'two', content: 'pear', group: 'g' },
    { id: 'three', content: 'apple', tier: 'semantic' },
  ]
  await client.call('memory/remember', { records })
}

interface Roles {
  readonly actor: Client
  readonly name: OwnerName
  readonly other: Client
}

/** Lets one act and looks at both; whether anything of the actor's has changed. */
async function step({ actor, name, other }: Roles, what: Operation): Promise<boolean> {
  const [before, mine] = [await stateOf(other), await stateOf(actor)]
  const told = await act(actor, what)
  expect(await stateOf(other)).toEqual(before)
  for (const record of told) expect(record).toHaveProperty('owner', name)
  const own = await stateOf(actor)
  expect(own.records.every((record) => record.owner === name)).toBe(true)
  expect(own.counts.reduce((sum, count) => sum + count, 0)).toBe(own.records.length)
  return JSON.stringify(own) !== JSON.stringify(mine)
}

test('whatever one caller does, the other neither sees nor feels it', async () => {
  const [anna, ben] = [clientOf('anna'), clientOf('ben')]
  let changes = 0
  const steps = fc.array(fc.tuple(fc.boolean(), operation), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await Promise.all([begin(anna), begin(ben)])
      for (const [byAnna, what] of all) {
        const changed = byAnna
          ? step({ actor: anna, name: 'anna', other: ben }, what)
          : step({ actor: ben, name: 'ben', other: anna }, what)
        if (await changed) changes++
      }
    }),
    { numRuns: 30 },
  )
  expect(changes).toBeGreaterThan(30)
}, 120_000)
