import { expect, test } from 'vitest'
import { compatible, PROTOCOL } from '../../../src/protocol/versions.js'
import { meets } from '../../support/meets.js'

test.each([
  ['a2m/0.1', 'a2m/0.1', true],
  ['a2m/0.1', 'a2m/0.2', false],
  ['a2m/0.1', 'a2m/1.1', false],
  ['a2m/1.0', 'a2m/1.7', true],
  ['a2m/1.0', 'a2m/2.0', false],
  ['a2m/10.0', 'a2m/1.0', false],
  ['a2m/0.10', 'a2m/0.1', false],
])(`%s and %s ${meets('4.1/exact-minor')}`, (left, right, wanted) => {
  expect(compatible(left, right)).toBe(wanted)
  expect(compatible(right, left)).toBe(wanted)
})

test.each([
  '',
  '0.1',
  'a2m',
  'a2m/0',
  'a2m/0.1.0',
  'A2M/0.1',
  'a2m/00.1',
  'a2m/0.01',
  ' a2m/0.1',
  'a2m/0.1\n',
  'a2m/0.x',
  'mcp/0.1',
])('%j is compatible with nothing, itself included', (malformed) => {
  expect(compatible(malformed, PROTOCOL)).toBe(false)
  expect(compatible(malformed, malformed)).toBe(false)
})
