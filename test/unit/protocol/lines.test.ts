import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineSplitter } from '../../../src/protocol/lines.js'

/** Lines over `maxBytes` are told as undefined. */
function split(chunks: readonly Buffer[], maxBytes = 1000): (string | undefined)[] {
  const lines: (string | undefined)[] = []
  let overlong = 0
  const splitter = new LineSplitter(maxBytes, () => overlong++)
  for (const chunk of chunks) lines.push(...splitter.push(chunk).map(String))
  const rest = splitter.end()
  if (rest !== undefined) lines.push(rest.toString())
  return [...lines, ...Array<undefined>(overlong).fill(undefined)]
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const borders = [...new Set(at.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  const starts = [0, ...borders]
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1] ?? bytes.length))
}

test('lines are the same wherever the chunks are cut', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' ')))
  fc.assert(
    fc.property(texts, fc.array(fc.nat(10_000)), (lines, borders) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      expect(split(cut(bytes, borders))).toEqual(lines)
    }),
  )
})

test('a line over the bound is dropped alone, told once, wherever the chunks are cut', () => {
  const line = fc.integer({ min: 0, max: 20 }).map((length) => 'x'.repeat(length))
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(1000)), (lines, borders) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
      const told = split(cut(bytes, borders), 10)
      expect(told.filter((text) => text !== undefined)).toEqual(
        lines.filter((text) => text.length <= 10),
      )
      expect(told.filter((text) => text === undefined)).toHaveLength(
        lines.filter((text) => text.length > 10).length,
      )
    }),
  )
})

test('what stands after the last line break is a line only at the end', () => {
  const splitter = new LineSplitter(10, () => {})
  expect(splitter.push(Buffer.from('a\nb')).map(String)).toEqual(['a'])
  expect(splitter.end()?.toString()).toBe('b')
  expect(splitter.end()).toBeUndefined()
})

test('an overlong line that never ends leaves nothing', () => {
  let overlong = 0
  const splitter = new LineSplitter(3, () => overlong++)
  for (let i = 0; i < 100; i++) expect(splitter.push(Buffer.from('xx'))).toEqual([])
  expect(splitter.end()).toBeUndefined()
  expect(overlong).toBe(1)
})

test('empty lines and carriage returns are left to the reader', () => {
  expect(split([Buffer.from('\n\r\na\r\n')])).toEqual(['', '\r', 'a\r'])
})
