import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openState, type State } from '../../../src/state/state.js'

let state: State
beforeEach(() => {
  state = openState({ path: ':memory:', durability: 'normal' })
})
afterEach(() => state.close())

test('carried records are counted each once, by upstream, whatever came before', () => {
  const step = fc.record({
    what: fc.constantFrom('add', 'remove'),
    upstream: fc.constantFrom('a', 'b'),
    owner: fc.constantFrom('', 'alice', 'bob'),
    ids: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const fresh = openState({ path: ':memory:', durability: 'normal' })
      const model = new Set<string>()
      for (const { what, upstream, owner, ids } of steps) {
        fresh.carried[what](upstream, owner, ids)
        for (const id of ids) {
          const key = `${upstream}/${owner}/${id}`
          if (what === 'add') model.add(key)
          else model.delete(key)
        }
        for (const name of ['a', 'b']) {
          const wanted = [...model].filter((key) => key.startsWith(`${name}/`)).length
          expect(fresh.carried.count(name)).toBe(wanted)
        }
      }
      fresh.close()
    }),
    { numRuns: 50 },
  )
})

test('beyond ten thousand owners the least recently written background goes', () => {
  const { backgrounds } = state
  const bytes = new Uint8Array([1])
  for (let n = 0; n < 10_000; n++) backgrounds.write(`owner ${n}`, bytes, n)
  backgrounds.write('owner 0', new Uint8Array([2]), 10_000)
  backgrounds.write('one more', bytes, 10_001)
  expect(backgrounds.read('owner 1')).toBeUndefined()
  expect([...(backgrounds.read('owner 0') ?? [])]).toEqual([2])
  expect(backgrounds.read('owner 2')).toBeDefined()
  expect(backgrounds.read('one more')).toBeDefined()
})
