import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inKeyRange, keyRange } from '../../../src/protocol/key-prefix.js'

test.each([
  ['wf/1', 'wf/1', true],
  ['wf/1', 'wf/1/x', true],
  ['wf/1', 'wf/1/x/y', true],
  ['wf/1', 'wf/1/', true],
  ['wf/1', 'wf/10', false],
  ['wf/1', 'wf', false],
  ['wf/1', 'WF/1', false],
  ['wf/1', 'a/wf/1', false],
  ['wf/1/', 'wf/1', true],
  ['wf/1/', 'wf/1/x', true],
  ['wf/1/', 'wf/10', false],
  ['wf//', 'wf/', true],
  ['wf//', 'wf//x', true],
  ['wf//', 'wf/x', false],
  ['/', '/x', true],
  ['/', 'x', false],
  ['a%', 'ab', false],
  ['..', '../x', true],
  ['wf', undefined, false],
  ['wf', null, false],
])('the prefix %j covers %j: %s', (prefix, key, covered) => {
  expect(inKeyRange(key, keyRange(prefix))).toBe(covered)
})

test('a slash at the end of a prefix without one changes nothing', () => {
  const part = fc.stringMatching(/^[a-c]{1,3}$/)
  const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
  fc.assert(
    fc.property(path, path, (prefix, key) => {
      const covered = inKeyRange(key, keyRange(prefix))
      expect(inKeyRange(key, keyRange(`${prefix}/`))).toBe(covered)
      expect(covered).toBe(`${key}/`.startsWith(`${prefix}/`))
    }),
  )
})
