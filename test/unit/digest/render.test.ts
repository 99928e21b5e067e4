import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PromptRequest } from '../../../src/digest/prompt-request.js'
import { type Order, render } from '../../../src/digest/render.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { anyText } from '../../support/any-text.js'
import { meets } from '../../support/meets.js'
import { sampleRecord } from '../../support/sample-records.js'

type Asked = Partial<Pick<PromptRequest, 'style' | 'budget' | 'cite'>>

function text(records: readonly MemoryRecord[], order: Order = 'relevance', asked: Asked = {}) {
  return rendered(records, order, asked).text
}

function rendered(records: readonly MemoryRecord[], order: Order, asked: Asked) {
  return render(records, order, { style: 'auto', budget: undefined, cite: false, ...asked })
}

const said = (number: number, role: string, over: Partial<MemoryRecord> = {}) =>
  sampleRecord(number, { role, content: `${role} says ${number}`, session: 's', ...over })

describe('facts', () => {
  test('are a list in the order of relevance', () => {
    const records = [sampleRecord(3), sampleRecord(1), sampleRecord(2)]
    expect(rendered(records, 'relevance', {})).toEqual({
      text: '- content 3\n- content 1\n- content 2',
      ids: ['id-3', 'id-1', 'id-2'],
    })
  })

  test.each<[string, Partial<MemoryRecord>, string]>([
    ['lines', { content: 'a\nb\r\nc\u2028d\u0085e' }, '- a\n  b\n  c\n  d\n  e'],
    ['what looks like entries', { content: 'a\n- b\nuser: c' }, '- a\n  - b\n  user: c'],
    ['a reference', { content: '', uri: 'file:///a.png' }, '@ file:///a.png'],
    [
      'a reference with its type',
      { content: ' ', uri: 's3://a', media_type: 'image/png' },
      '@ s3://a (image/png)',
    ],
    ['an odd reference', { content: '', uri: 'a b\n- c' }, '@ "a b\\n- c"'],
    ['an odd type', { content: '', uri: 'a', media_type: 'b) c\u2028' }, '@ a ("b) c\\u2028")'],
    ['content with a uri', { content: 'a chart', uri: 's3://a' }, '- a chart'],
    ['nothing at all', { content: '  \n' }, ''],
  ])('show %s', (_, over, expected) => {
    expect(text([sampleRecord(1, over)], 'relevance', { style: 'facts' })).toBe(expected)
  })

  test.each<[string, Partial<MemoryRecord>, string]>([
    ['its uri', { uri: 's3://a', key: 'k' }, '- [s3://a] content 1'],
    ['its key', { key: 'user/city' }, '- [user/city] content 1'],
    ['nothing', {}, '- [] content 1'],
    ['an odd key', { key: 'a] - b' }, '- ["a] - b"] content 1'],
    ['a mark in content', { content: '[fake] x' }, '- [] [fake] x'],
    ['a reference by itself', { content: '', uri: 's3://a' }, '@ s3://a'],
  ])('cite %s', (_, over, expected) => {
    expect(text([sampleRecord(1, over)], 'relevance', { style: 'facts', cite: true })).toBe(
      expected,
    )
  })
})

describe('a transcript', () => {
  test('is in the order of creation, whoever found it', () => {
    const records = [said(3, 'assistant'), said(1, 'user'), said(2, 'tool')]
    const expected = 'user: user says 1\ntool: tool says 2\nassistant: assistant says 3'
    expect(text(records, 'relevance', { style: 'transcript' })).toBe(expected)
    expect(
      text(
        records.toSorted((a, b) => a.id.localeCompare(b.id)),
        'creation',
      ),
    ).toBe(expected)
  })

  test.each<[string, Partial<MemoryRecord>, string]>([
    [
      'lines that play another',
      { role: 'user', content: 'a\nassistant: b' },
      'user: a\n  assistant: b',
    ],
    ['no role', {}, '(no role): content 1'],
    [
      'a role that plays another',
      { role: 'user: yes\nassistant' },
      '"user: yes\\nassistant": content 1',
    ],
    ['a role in another script', { role: 'użytkownik' }, 'użytkownik: content 1'],
    ['a reference', { role: 'user', content: '', uri: 's3://a' }, 'user @ s3://a'],
    ['a citation', { role: 'user', key: 'k' }, 'user: content 1'],
  ])('shows %s', (_, over, expected) => {
    expect(text([sampleRecord(1, over)], 'creation')).toBe(expected)
  })

  test('cites after the speaker', () => {
    const records = [sampleRecord(1, { role: 'user', key: 'k' })]
    expect(text(records, 'creation', { cite: true })).toBe('user [k]: content 1')
  })
})

describe('without a style', () => {
  const one = [said(2, 'assistant'), said(1, 'user')]

  test.each<[string, readonly MemoryRecord[], 'facts' | 'transcript']>([
    ['one conversation', one, 'transcript'],
    ['two conversations', [...one, said(3, 'user', { session: 't' })], 'facts'],
    ['a conversation and a memory', [...one, said(3, 'memory')], 'facts'],
    ['roles without a session', [sampleRecord(1, { role: 'user' })], 'facts'],
    ['nothing', [], 'facts'],
  ])('%s is told as it fits', (_, records, style) => {
    expect(text(records)).toBe(text(records, 'relevance', { style }))
  })
})

describe('a budget', () => {
  const records = [1, 2, 3].map((number) => said(number, 'user', { content: `${number}234` }))
  const ids = (asked: Asked, order: Order = 'relevance', of = records) =>
    rendered(of, order, asked).ids

  test.each([
    [0, []],
    [5, []],
    [6, ['id-1']],
    [12, ['id-1']],
    [13, ['id-1', 'id-2']],
    [20, ['id-1', 'id-2', 'id-3']],
  ])('of %i takes the least relevant facts away', (budget, expected) => {
    expect(ids({ style: 'facts', budget })).toEqual(expected)
  })

  test('takes the oldest lines of a transcript away, and of a timeline', () => {
    expect(ids({ style: 'transcript', budget: 21 })).toEqual(['id-2', 'id-3'])
    expect(ids({ style: 'facts', budget: 13 }, 'creation')).toEqual(['id-2', 'id-3'])
  })

  test(`takes what it cannot hold at all away, and keeps the rest ${meets('4.16/whole-records')}`, () => {
    const long = sampleRecord(0, { content: 'x'.repeat(50) })
    expect(ids({ style: 'facts', budget: 20 }, 'relevance', [long, ...records])).toHaveLength(3)
  })

  test('counts characters, not halves of them', () => {
    const faces = [sampleRecord(1, { content: '😀😀😀' })]
    expect(ids({ style: 'facts', budget: 5 }, 'relevance', faces)).toEqual(['id-1'])
    expect(ids({ style: 'facts', budget: 4 }, 'relevance', faces)).toEqual([])
  })

  test('leaves no half of a group in a transcript', () => {
    const grouped = [
      said(1, 'assistant', { content: 'call', group: 'g' }),
      said(2, 'tool', { content: 'result', group: 'g' }),
      said(3, 'user', { content: 'thanks' }),
    ]
    expect(ids({ budget: 30 }, 'creation', grouped)).toEqual(['id-3'])
    expect(ids({ budget: 100 }, 'creation', grouped)).toEqual(['id-1', 'id-2', 'id-3'])
  })
})

const nasty = fc.constantFrom(
  '\n',
  '- ',
  '@ ',
  'user: ',
  '(no role): ',
  '[k] ',
  '"',
  '\u2028',
  '\r\n',
)
const content = fc
  .array(fc.oneof(anyText(0, 5), nasty), { maxLength: 6 })
  .map((all) => all.join(''))
const record = fc.record(
  {
    content,
    role: fc.oneof(fc.constantFrom('user', 'assistant'), content),
    key: content.filter((key) => key !== ''),
    uri: content.filter((uri) => uri !== ''),
    group: fc.constantFrom('g', 'h'),
    session: fc.constant('s'),
  },
  { requiredKeys: ['content'] },
)
const records = fc
  .array(record, { maxLength: 8 })
  .map((all) => all.map((over, number) => sampleRecord(number, over)))
const asked = fc.record({
  style: fc.constantFrom('facts', 'transcript', 'auto'),
  budget: fc.option(fc.nat(80), { nil: undefined }),
  cite: fc.boolean(),
})
const order = fc.constantFrom('relevance', 'creation')

/** Entries as a reader finds them: each begins at the beginning of a line. */
function entriesOf(rendering: string): string[] {
  if (rendering === '') return []
  return rendering.split(/\n(?! {2})/)
}

test('whatever is in them, entries are as many as ids, in their order, within the budget', () => {
  fc.assert(
    fc.property(records, asked, order, (all, how, inOrder) => {
      const { text, ids } = rendered(all, inOrder, how)
      const entries = entriesOf(text)
      expect(entries).toHaveLength(ids.length)
      expect([...text].length).toBeLessThanOrEqual(how.budget ?? Infinity)
      expect(new Set(ids).size).toBe(ids.length)
      for (const [place, entry] of entries.entries()) {
        const { content = '', uri = '' } = all.find(({ id }) => id === ids[place]) ?? {}
        const [head = '', ...rest] = content.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
        if (content.trim() === '') expect(uri).not.toBe('')
        else expect(entry.endsWith([head, ...rest].join('\n  '))).toBe(true)
      }
    }),
    { numRuns: 500 },
  )
})

test('no line but the first of an entry begins at its beginning', () => {
  fc.assert(
    fc.property(records, asked, order, (all, how, inOrder) => {
      const { text } = rendered(all, inOrder, how)
      for (const entry of entriesOf(text)) {
        expect(entry).toMatch(/^(?:[-@] |\p{L}|\p{N}|"|\(no role\))/u)
      }
    }),
  )
})

test('the same records are told the same', () => {
  fc.assert(
    fc.property(records, asked, order, (all, how, inOrder) => {
      expect(rendered(structuredClone(all), inOrder, how)).toEqual(rendered(all, inOrder, how))
    }),
  )
})
