import fc from 'fast-check'
import pico from 'picocolors'
import { expect, test } from 'vitest'
import { pretty } from '../../../src/cli/pretty.js'

const plain = pico.createColors(false)

test('lays out as JSON.stringify would', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(pretty(JSON.stringify(value), plain)).toBe(JSON.stringify(value, null, 2))
    }),
  )
})

test('numerals and the order of keys stay as they were written', () => {
  expect(pretty('{"b":9007199254740993,"1":-0,"0":1.0,"e":1e400}', plain)).toBe(
    '{\n  "b": 9007199254740993,\n  "1": -0,\n  "0": 1.0,\n  "e": 1e400\n}',
  )
})

test('texts that look like JSON are left alone', () => {
  expect(pretty('["a{\\"b\\":[1,2]}"]', plain)).toBe('[\n  "a{\\"b\\":[1,2]}"\n]')
})

test('keys, texts and the rest have colours of their own', () => {
  const colours = pico.createColors(true)
  expect(pretty('{"a":"b","c":1}', colours)).toBe(
    `{\n  ${colours.cyan('"a"')}: ${colours.green('"b"')},\n  ${colours.cyan('"c"')}: ${colours.yellow('1')}\n}`,
  )
})
