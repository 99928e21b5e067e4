import { afterEach, expect, test } from 'vitest'
import { Fault } from '../../../src/protocol/errors.js'
import type { Method } from '../../../src/protocol/methods.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { Faulty } from '../../support/plain-memory.js'

const folder = temporaryFolder()
let fixture: TestFederation | undefined
let turn = 0
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

const dead = new Fault('unreachable', 'connection refused')

/** Three stores, a tier each; the first can be told to die. */
async function three() {
  turn++
  const store = (name: string) =>
    embeddedStore({ path: `${folder.path}/${turn}-${name}.db`, tiers: [name] })
  const first = new Faulty(store('first'))
  const config = { retries: 0, breaker: { failures: 1000, reset: 1 } }
  fixture = await openFederation({
    upstreams: {
      first: { memory: first, config },
      second: { memory: store('second') },
      third: { memory: store('third') },
    },
    tiers: ['first', 'second', 'third'].map((name) => tierConfig(name, name)),
  })
  const { federation, state } = fixture
  const context = () => ownerContext('alice')
  const write = (content: string, tier?: string) =>
    federation.call(
      'memory/remember',
      { records: [{ key: 'k', content, ...(tier === undefined ? {} : { tier }) }] },
      context(),
    )
  const records = async () => {
    const { records } = await federation.call('memory/timeline', {}, context())
    return records.map(({ content, tier, revision }) => [content, tier, revision])
  }
  const promote = (ids: readonly string[], tier: string) =>
    federation.call('memory/promote', { ids: [...ids], tier }, context())
  return { first, write, records, promote, state, federation, context }
}

/** Dies at the first forget, which is where a move leaves its source. */
function dying(): (method: Method) => Error | undefined {
  let gone = false
  return (method) => {
    gone ||= method === 'memory/forget'
    return gone ? dead : undefined
  }
}

const alive = () => undefined
const notSent = { code: -32603, data: { outcome: 'not_sent' } }

test('a record that is left in a move is not rewritten until the move is finished', async () => {
  const { first, write, records, state } = await three()
  await write('Lisbon', 'first')
  first.fault = dying()
  await expect(write('Porto', 'second')).rejects.toMatchObject({ code: -32603 })
  expect(state.journal.openMoves()).toHaveLength(1)
  await expect(write('Faro', 'third')).rejects.toMatchObject(notSent)
  await expect(write('Faro')).rejects.toMatchObject(notSent)
  first.fault = alive
  await write('Faro', 'third')
  expect(await records()).toEqual([['Faro', 'third', 1]])
  expect(state.journal.openMoves()).toEqual([])
})

test('a place that is given to a record stays, though a move of it had been left open', async () => {
  const { first, write, records, state } = await three()
  await write('v1', 'first')
  let lose = true
  first.fault = (method) => {
    const lost = lose && method === 'memory/forget'
    if (lost) lose = false
    return lost ? dead : undefined
  }
  await expect(write('v2', 'second')).rejects.toMatchObject({ code: -32603 })
  await write('v3', 'first')
  expect(await records()).toEqual([['v3', 'first', 1]])
  expect(state.journal.openMoves()).toEqual([])
})

test('nor is it moved on, by promote or by consolidate', async () => {
  const { first, write, records, promote, federation, context } = await three()
  const { ids } = await write('v1', 'first')
  first.fault = dying()
  await expect(promote(ids, 'second')).rejects.toMatchObject({ code: -32603 })
  await expect(promote(ids, 'third')).rejects.toMatchObject(notSent)
  first.fault = alive
  expect(await promote(ids, 'third')).toEqual({ promoted: 1 })
  expect(await records()).toEqual([['v1', 'third', 0]])
  await federation.call('memory/consolidate', {}, context())
  expect(await records()).toEqual([['v1', 'third', 0]])
})
