import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Method } from '../../../src/protocol/methods.js'
import { openState } from '../../../src/state/state.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { Faulty } from '../../support/plain-memory.js'

const NAMES = ['one', 'two', 'three'] as const
type Fault = (method: Method) => Error | undefined
type Faults = { readonly [N in (typeof NAMES)[number]]?: Fault }

const folder = temporaryFolder()
const open: TestFederation[] = []
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close()
})

/** Three stores on files, `three` with two tiers, and the gateway's state beside them. */
async function gateway(name: string, faults: Faults = {}): Promise<TestFederation> {
  const store = (upstream: (typeof NAMES)[number], tiers: string[]) => {
    const path = join(folder.path, `${name}-${upstream}.db`)
    const memory = new Faulty(embeddedStore({ path, tiers }))
    memory.fault = faults[upstream] ?? (() => undefined)
    return { memory }
  }
  const made = await openFederation({
    upstreams: {
      one: store('one', ['one']),
      two: store('two', ['two']),
      three: store('three', ['three', 'last']),
    },
    tiers: [
      tierConfig('one', 'one'),
      tierConfig('two', 'two'),
      tierConfig('three', 'three'),
      tierConfig('last', 'three'),
    ],
    state: openState({ path: join(folder.path, `${name}.db`), durability: 'normal' }),
  })
  open.push(made)
  return made
}

const alice = () => ownerContext('alice')

async function tiersOf({ federation }: TestFederation): Promise<Record<string, string>> {
  const { records } = await federation.call('memory/timeline', {}, alice())
  return Object.fromEntries(records.map(({ id, tier = '' }) => [id, tier]))
}

async function write(name: string): Promise<void> {
  const made = await gateway(name)
  const records = [
    { id: 'a', content: 'a', group: 'g', tier: 'one' },
    { id: 'b', content: 'b', group: 'g', tier: 'two' },
    { id: 'c', content: 'c', group: 'g', tier: 'three' },
    { id: 'x', content: 'x', tier: 'one' },
  ]
  await made.federation.call('memory/remember', { records }, alice())
  await made.close()
  open.splice(open.indexOf(made), 1)
}

const promote = ({ federation }: TestFederation, ids: string[]) =>
  federation.call('memory/promote', { ids, tier: 'last' }, alice())

test('a group is gathered from wherever it is spread', async () => {
  await write('gathered')
  const made = await gateway('gathered')
  expect(await promote(made, ['b', 'x'])).toEqual({ promoted: 4 })
  expect(await tiersOf(made)).toEqual({ a: 'last', b: 'last', c: 'last', x: 'last' })
  expect(made.state.journal.openMoves()).toEqual([])
})

/** Lets so many calls through, that of discovery among them. */
const refusing = (wanted: Method, after: number): Fault => {
  let seen = 0
  return (method) =>
    method === wanted && ++seen > after ? new A2mError('INTERNAL_ERROR', 'not now') : undefined
}

test.each<[string, Faults]>([
  ['its target takes no more', { three: refusing('memory/remember', 2) }],
  ['its target moves nothing itself', { three: refusing('memory/promote', 0) }],
  ['one of its places forgets nothing', { two: refusing('memory/forget', 0) }],
])('a group a part of which has gone follows whole, although %s', async (name, faults) => {
  await write(name)
  const failing = await gateway(name, faults)
  await expect(promote(failing, ['a'])).rejects.toMatchObject({ code: -32603 })
  expect(failing.state.journal.openMoves().length).toBeGreaterThan(0)
  await failing.close()
  open.splice(open.indexOf(failing), 1)
  const made = await gateway(name)
  expect(await tiersOf(made)).toEqual({ a: 'last', b: 'last', c: 'last', x: 'one' })
  expect(made.state.journal.openMoves()).toEqual([])
})

test('a group of which nothing has gone yet stays, and so does what came after it', async () => {
  await write('stays')
  const made = await gateway('stays', { three: refusing('memory/remember', 1) })
  await expect(promote(made, ['a', 'x'])).rejects.toMatchObject({ code: -32603 })
  expect(await tiersOf(made)).toEqual({ a: 'one', b: 'two', c: 'three', x: 'one' })
  expect(made.state.journal.openMoves()).toEqual([])
})

test('records that no group ties together are moved as far as they could be', async () => {
  await write('untied')
  const refused = refusing('memory/remember', 2)
  const made = await gateway('untied', { three: refused })
  await made.federation.call(
    'memory/remember',
    { records: [{ id: 'y', content: 'y', tier: 'two' }] },
    alice(),
  )
  await expect(promote(made, ['x', 'y'])).rejects.toMatchObject({ code: -32603 })
  expect(await tiersOf(made)).toMatchObject({ x: 'last', y: 'two' })
  expect(made.state.journal.openMoves()).toEqual([])
})
