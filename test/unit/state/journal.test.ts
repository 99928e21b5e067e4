import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Move, WritePart } from '../../../src/state/journal.js'
import { openState, type State } from '../../../src/state/state.js'

let state: State
beforeEach(() => {
  state = openState({ path: ':memory:', durability: 'normal' })
})
afterEach(() => state.close())

const move = (owner: string | null, over: Partial<Move> = {}): Move => ({
  from: 'a',
  to: 'b',
  tier: 'episodic',
  owner,
  ...over,
})

test('a move is open from its begin to its end, with its records in their order', () => {
  const { journal } = state
  journal.beginMoves([{ id: '2', move: move('alice'), ids: ['z', 'a', 'm'] }])
  journal.beginMoves([{ id: '1', move: move(null, { tier: 'semantic' }), ids: [] }])
  expect(journal.openMoves()).toEqual([
    { id: '1', ...move(null, { tier: 'semantic' }), ids: [], forgotten: new Set() },
    { id: '2', ...move('alice'), ids: ['z', 'a', 'm'], forgotten: new Set() },
  ])
  journal.endMove('2', 'arrived')
  journal.endMove('never begun', 'arrived')
  expect(journal.openMoves().map(({ id }) => id)).toEqual(['1'])
  expect(journal.forgottenOf('2')).toEqual(new Set())
})

test('a move that is begun twice is an error and leaves the first', () => {
  const { journal } = state
  journal.beginMoves([{ id: '1', move: move('alice'), ids: ['x'] }])
  expect(() => journal.beginMoves([{ id: '1', move: move('alice'), ids: ['y'] }])).toThrow()
  expect(journal.openMoves()[0]?.ids).toEqual(['x'])
})

test.each([
  ['alice', 'alice', true],
  ['alice', 'bob', false],
  ['alice', null, false],
  [null, null, true],
  [null, 'alice', false],
  ['', null, false],
  [null, '', false],
])('records of %j, forgotten by %j', (owner, forgetting, marked) => {
  const { journal } = state
  journal.beginMoves([{ id: '1', move: move(owner), ids: ['x', 'y'] }])
  journal.beginMoves([{ id: '2', move: move(owner), ids: ['x'] }])
  journal.markForgotten(forgetting, ['x', 'unheard of'])
  const wanted = new Set(marked ? ['x'] : [])
  expect(journal.forgottenOf('1')).toEqual(wanted)
  expect(journal.openMoves().map(({ forgotten }) => forgotten)).toEqual([wanted, wanted])
})

test('a forget before a move began says nothing of it', () => {
  const { journal } = state
  journal.markForgotten('alice', ['x'])
  journal.beginMoves([{ id: '1', move: move('alice'), ids: ['x'] }])
  expect(journal.forgottenOf('1')).toEqual(new Set())
})

test('writes come back as they went in, until they end', () => {
  const text = fc.string({ minLength: 1 })
  const replaced = fc.record(
    { key: text, before: text, content: text, revision: fc.nat(), carried: fc.constant({}) },
    { requiredKeys: ['key', 'before', 'content'] },
  )
  const part: fc.Arbitrary<WritePart> = fc.record(
    {
      upstream: text,
      owner: fc.option(text),
      ids: fc.array(text),
      replaced: fc.array(replaced),
    },
    { requiredKeys: ['upstream', 'owner', 'ids'] },
  )
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      state.journal.beginWrite('w', parts)
      expect(state.journal.openWrites()).toEqual([{ id: 'w', parts }])
      state.journal.endWrite('w')
      expect(state.journal.openWrites()).toEqual([])
    }),
  )
})

test('open writes come in the order of their ids', () => {
  for (const id of ['3', '1', '2']) state.journal.beginWrite(id, [])
  expect(state.journal.openWrites().map(({ id }) => id)).toEqual(['1', '2', '3'])
})
