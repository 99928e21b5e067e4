import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createExtractor } from '../../../src/digest/extract.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { sentences } from '../../../src/text/sentences.js'
import { Tokenizer } from '../../../src/text/tokenizer.js'
import { anyText } from '../../support/any-text.js'
import { contextWithin } from '../../support/contexts.js'
import { sampleRecord } from '../../support/sample-records.js'

const extractor = createExtractor(new Tokenizer())
const context = contextWithin(60_000)

function summarize(contents: readonly string[], longest = Infinity) {
  const sources = contents.map((content, number) => ({
    ...sampleRecord(number, { content }),
    role: undefined,
  }))
  return extractor.summarize(sources, { longest, context })
}

const KEYS = [
  'Hello! The deploy key rotates every ninety days. Who knows where it is kept?',
  'The deploy key is kept in the vault of the platform team.',
  'Lunch on Tuesday was ramen with a soft egg.',
  'Thanks, great! Remember that the deploy key of the platform rotates in March.',
  'The deploy key rotates every 90 days, says the platform team.',
]

describe('extracts', () => {
  test('what speaks for all, to the letter, in the order of the sources', async () => {
    expect(await summarize(KEYS)).toEqual({
      content: [
        'The deploy key is kept in the vault of the platform team.',
        'Remember that the deploy key of the platform rotates in March.',
        'The deploy key rotates every 90 days, says the platform team.',
      ].join('\n'),
      of: ['id-1', 'id-3', 'id-4'],
    })
  })

  test('what is said twice once, and names both', async () => {
    const twice = ['The deploy key rotates every 90 days.', 'The deploy key rotates every 90 days!']
    expect(await summarize(twice)).toEqual({ content: twice[0], of: ['id-0', 'id-1'] })
  })

  test('from a long record what matters in it', async () => {
    const lines = Array.from(
      { length: 30 },
      (_, n) => `Rule ${n} of the garden concerns plant number ${n} alone.`,
    )
    const summary = await summarize([lines.join(' ')])
    expect(summary?.of).toEqual(['id-0'])
    expect(summary?.content.split('\n')).toHaveLength(10)
  })

  test('in scripts without spaces', async () => {
    const summary = await summarize([
      '東京の天気は明日も晴れです。',
      '京都の天気は明日から雨です。',
    ])
    expect(summary?.content).toBe('東京の天気は明日も晴れです。\n京都の天気は明日から雨です。')
  })

  test('no more than there is room for, and nothing cut', async () => {
    expect(await summarize(KEYS, 60)).toEqual({
      content: 'The deploy key rotates every ninety days.',
      of: ['id-0'],
    })
    expect(await summarize(KEYS, 10)).toBeUndefined()
  })
})

describe('declines', () => {
  test.each<[string, string[]]>([
    ['nothing', []],
    ['courtesies', ['Hello!', 'Thanks, that is great.', 'ok', '👍']],
    ['questions', ['Where is the deploy key of the platform kept?', '天気はどうですか？']],
    ['figures and signs', ['{"a":[1,2,3],"b":{"c":4}}', '=== 12:30:11 === 55 %% 17 ##']],
    ['one record that it would copy', ['The deploy key rotates every ninety days.']],
    [
      'one record of two sentences',
      ['The deploy key rotates every ninety days. It is kept in the vault of Berlin.'],
    ],
    ['a blob', ['x'.repeat(10_000)]],
  ])('%s', async (_, contents) => {
    expect(await summarize(contents)).toBeUndefined()
  })
})

test('each sentence stands in a source, in order, within every bound, and the same comes again', async () => {
  const words = fc.constantFrom(
    'deploy',
    'key',
    'vault',
    'rotates',
    'March',
    'Berlin',
    'is',
    '東京の天気',
  )
  const phrase = fc.array(words, { minLength: 1, maxLength: 9 }).map((all) => all.join(' '))
  const end = fc.constantFrom('. ', '! ', '? ', '。', '\n')
  const piece = fc.oneof(phrase, end, anyText(0, 6))
  const content = fc.array(piece, { maxLength: 14 }).map((all) => all.join(''))
  let made = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(content, { maxLength: 8 }),
      fc.nat(400),
      async (contents, longest) => {
        const summary = await summarize(contents, longest)
        expect(await summarize(contents, longest)).toEqual(summary)
        if (summary === undefined) return
        made++
        expect([...summary.content].length).toBeLessThanOrEqual(longest)
        const ids = summary.of.map((id) => Number(id.slice(3)))
        expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
        let rest = summary.content
        for (const sentence of ids.flatMap((id) => sentences(contents[id] ?? ''))) {
          if (rest === sentence || rest.startsWith(`${sentence}\n`))
            rest = rest.slice(sentence.length + 1)
        }
        expect(rest).toBe('')
      },
    ),
    { numRuns: 300 },
  )
  expect(made).toBeGreaterThan(50)
})

test('ten thousand records take little time, and leave the thread to others in between', async () => {
  const contents = Array.from(
    { length: 10_000 },
    (_, n) =>
      `Ticket ${n} of team ${n % 97} is about topic ${n % 13}. It was closed on day ${n % 31} of the month by agent ${n % 7}.`,
  )
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 1)
  const start = performance.now()
  const summary = await summarize(contents)
  clearInterval(timer)
  longest = Math.max(longest, performance.now() - last)
  expect(summary?.content.split('\n').length).toBeGreaterThan(2)
  expect(performance.now() - start).toBeLessThan(10_000)
  expect(longest).toBeLessThan(1000)
}, 20_000)

test('stops where the caller has left', async () => {
  const cancellation = new Cancellation()
  const sources = Array.from({ length: 600 }, (_, number) => ({
    ...sampleRecord(number, { content: KEYS.join('\n') }),
    role: undefined,
  }))
  const leaving = { ...context, cancellation }
  const summary = extractor.summarize(sources, { longest: 100, context: leaving })
  cancellation.cancel()
  await expect(summary).rejects.toMatchObject({ kind: 'cancelled' })
})
