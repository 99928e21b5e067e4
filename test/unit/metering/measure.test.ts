import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Measure,
  measureParams,
  measureResult,
  usageOf,
} from '../../../src/metering/measure.js'

const AT = '2026-01-02T03:04:05.678Z'
const NONE = { records: 0, characters: 0, vectors: 0, tiers: [], untiered: 0 }

function record(content: string, tier?: string, embedding?: readonly number[]) {
  return {
    id: content,
    content,
    created_at: AT,
    ...(tier === undefined ? {} : { tier }),
    ...(embedding === undefined ? {} : { embedding }),
  }
}

describe('what comes in', () => {
  const rows: readonly (readonly [string, Measure, Partial<Measure>])[] = [
    [
      'entries with their contents, vectors and tiers',
      measureParams('memory/remember', {
        records: [
          { content: 'abc', tier: 'semantic' },
          { content: 'é𝒳', embedding: [1, 2] },
          { content: '', uri: 'x:y', tier: 'semantic' },
        ],
      }),
      { records: 3, characters: 5, vectors: 1, tiers: ['semantic'], untiered: 1 },
    ],
    ['no characters of a query', measureParams('memory/recall', { query: 'abc' }), {}],
    [
      'the vector that is searched by',
      measureParams('memory/recall', { embedding: [1], tier: 'working' }),
      { vectors: 1, tiers: ['working'] },
    ],
    ['an empty tier is none', measureParams('memory/timeline', { tier: '' }), {}],
    ['ids bring nothing in', measureParams('memory/reinforce', { ids: ['a', 'b'] }), {}],
    [
      'where a promotion leads',
      measureParams('memory/promote', { ids: ['a'], tier: 'semantic' }),
      { tiers: ['semantic'] },
    ],
    [
      'both tiers of a summary',
      measureParams('memory/summarize', { tier: 'working', into: 'semantic' }),
      { tiers: ['working', 'semantic'] },
    ],
  ]
  test.each(rows)('%s', (_, measured, expected) => {
    expect(measured).toEqual({ ...NONE, ...expected })
  })
})

describe('what goes out', () => {
  test('records of a recall, each tier once', () => {
    const records = [record('ab', 'a'), record('𝒳', 'b', [1]), record('c', 'a')]
    expect(measureResult('memory/recall', { records })).toEqual({
      records: 3,
      characters: 4,
      vectors: 1,
      tiers: ['a', 'b'],
      untiered: 0,
    })
  })

  test('a key that is not there gives nothing', () => {
    expect(measureResult('memory/fetch', { record: null })).toEqual(NONE)
    expect(measureResult('memory/fetch', { record: record('abc') }).characters).toBe(3)
  })

  test('what is written gives ids, which are no records', () => {
    expect(measureResult('memory/remember', { ids: ['a'] })).toEqual(NONE)
  })
})

/** Any code points, those beyond two bytes and halves of pairs among them. */
const TEXT = fc.string({ unit: 'binary', maxLength: 10 })

test('characters are code points, whatever the text', () => {
  fc.assert(
    fc.property(fc.array(TEXT, { maxLength: 5 }), (contents) => {
      const { characters, records } = measureParams('memory/remember', {
        records: contents.map((content) => ({ content })),
      })
      const points = contents.reduce((sum, content) => sum + [...content].length, 0)
      expect({ characters, records }).toEqual({ characters: points, records: contents.length })
    }),
  )
})

test('entries without a tier go to the default one', () => {
  const incoming = measureParams('memory/remember', {
    records: [{ content: 'a' }, { content: 'b', tier: 'semantic' }],
  })
  const outgoing = measureResult('memory/remember', { ids: ['1', '2'] })
  expect(usageOf('o', incoming, outgoing, 'working')).toEqual({
    owner: 'o',
    tiers: ['semantic', 'working'],
    recordsIn: 2,
    recordsOut: 0,
    charactersIn: 2,
    charactersOut: 0,
    vectorsIn: 0,
    vectorsOut: 0,
  })
  expect(usageOf('o', incoming, outgoing).tiers).toEqual(['semantic'])
})
