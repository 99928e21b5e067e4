import { describe, expect, test } from 'vitest'
import { createExtractor } from '../../../src/digest/extract.js'
import { createModelSummarizer } from '../../../src/digest/model-summary.js'
import type { Summarizer } from '../../../src/digest/summarizer.js'
import type { Question } from '../../../src/digest/text-model.js'
import { withSummaries } from '../../../src/digest/with-summaries.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { Fault } from '../../../src/protocol/errors.js'
import type { ParamsOf } from '../../../src/protocol/methods.js'
import { withScope } from '../../../src/protocol/scope.js'
import { Tokenizer } from '../../../src/text/tokenizer.js'
import { contextWithin } from '../../support/contexts.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'
import { PlainMemory } from '../../support/plain-memory.js'

const context = contextWithin(5000)
const FACTS = [
  'The deploy key rotates every ninety days.',
  'The vault of the platform team holds the deploy key.',
  'Berlin hosts the summer meeting of the platform team.',
]

function setUp(summarizer: Summarizer = createExtractor(new Tokenizer()), longest = Infinity) {
  let now = Date.UTC(2026, 0, 1)
  const plain = new PlainMemory({
    capabilities: ['core', 'tiers', 'scopes', 'keys'],
    tiers: ['episodic', 'semantic'],
    now: () => now++,
  })
  const tiers = async () => ['episodic', 'semantic']
  const memory = withScope(
    withSummaries(plain, { summarizer, tiers, longestContent: () => longest }),
    'deny',
  )
  return {
    plain,
    asked: () => plain.asked.map(({ method }) => method),
    async write(...records: ParamsOf<'memory/remember'>['records']) {
      const { ids } = await plain.call('memory/remember', { records })
      plain.asked.length = 0
      return ids
    },
    summarize: (params: ParamsOf<'memory/summarize'>, as = context) =>
      memory.call('memory/summarize', params, as),
    describe: () => memory.call('memory/describe', {}, context),
  }
}

const ofTier = (content: string) => ({ content, tier: 'episodic' })

describe('a summary', () => {
  test(`is one record that says what it was made from, and the sources stay ${meets('4.15/sources')}`, async () => {
    const { write, summarize, plain } = setUp()
    const ids = await write(...FACTS.map(ofTier), ofTier('ok, thanks!'))
    const before = [...plain.records]
    const result = await summarize({ tier: 'episodic', into: 'semantic', key: 'page' })
    expect(result).toMatchObject({
      read: 4,
      written: 1,
      records: [{ content: FACTS.join('\n'), role: 'memory', tier: 'semantic', key: 'page' }],
    })
    expect(result.records[0]?.metadata?.value()).toEqual({
      a2m_summary: { of: ids.slice(0, 3), read: 4, method: 'extractive' },
    })
    expect(plain.records.slice(0, -1)).toEqual(before)
    expect(plain.records.at(-1)?.id).toBe(result.records[0]?.id)
  })

  test('is made from what all selectors name together', async () => {
    const { write, summarize } = setUp()
    const ids = await write(
      ...FACTS.map((content) => ({ content, role: 'user' })),
      ...FACTS.map(ofTier),
    )
    const some = await summarize({ ids: [...ids.slice(1, 5), 'unknown'], where: { role: 'user' } })
    expect(some.read).toBe(2)
    expect((await summarize({ ids, where: { id: ids[0] } })).read).toBe(1)
    expect((await summarize({ ids: ids.slice(0, 2), where: { id: ids.slice(3) } })).read).toBe(0)
    expect((await summarize({ query: 'Berlin', where: { role: 'user' } })).read).toBe(1)
  })

  test('reads as many records as its limit says, and no vectors', async () => {
    const { write, summarize, plain } = setUp()
    const ids = await write(...Array.from({ length: 250 }, (_, n) => ({ content: `Note ${n}` })))
    const limitOf = async (params: ParamsOf<'memory/summarize'>) => {
      plain.asked.length = 0
      await summarize(params)
      const params0 = plain.asked[0]?.params as ParamsOf<'memory/timeline'>
      expect(params0).not.toHaveProperty('embeddings')
      expect(params0).toMatchObject({ partial: false, 'a2m-gateway': { quiet: true } })
      return params0.limit
    }
    expect(await limitOf({ where: { role: 'x' } })).toBe(200)
    expect(await limitOf({ where: { role: 'x' }, limit: 7 })).toBe(7)
    expect(await limitOf({ where: { role: 'x' }, limit: 0 })).toBe(10_000)
    expect(await limitOf({ ids: [...ids] })).toBe(250)
    expect(await limitOf({ ids: [...ids], limit: 10 })).toBe(10)
    expect(await limitOf({ query: 'Note', limit: 0 })).toBe(10_000)
  })

  test('of many ids is of the newest of them, however they are looked for', async () => {
    const { write, summarize, plain } = setUp()
    const contents = Array.from({ length: 1200 }, (_, n) => ({
      content: `Note number ${n} of many.`,
    }))
    const ids = await write(...contents)
    const shuffled = ids.toSorted((a, b) => a.slice(-1).localeCompare(b.slice(-1)))
    expect((await summarize({ ids: shuffled })).read).toBe(1200)
    expect(plain.asked.filter(({ method }) => method === 'memory/timeline').length).toBeGreaterThan(
      2,
    )
    const { records } = await summarize({ ids: shuffled, limit: 3 })
    const newest = contents.slice(-3).map(({ content }) => content)
    expect(newest).toEqual(expect.arrayContaining(records[0]?.content.split('\n') ?? ['none']))
  })

  test('leaves out what has no content', async () => {
    const { write, summarize } = setUp()
    await write(ofTier(''), ofTier(' \n'), ...FACTS.slice(0, 2).map(ofTier))
    const { records, read } = await summarize({ tier: 'episodic' })
    expect(read).toBe(4)
    expect(records[0]?.content).toBe(FACTS.slice(0, 2).join('\n'))
  })

  test(`is declined where there is nothing to say, and nothing is written ${meets('4.15/declined')}`, async () => {
    const { write, summarize, plain } = setUp()
    await write(ofTier('ok, thanks!'), ofTier(''), ofTier('Where are the keys of the vault?'))
    expect(await summarize({ tier: 'episodic' })).toEqual({ records: [], read: 3, written: 0 })
    expect(await summarize({ ids: ['unknown'] })).toEqual({ records: [], read: 0, written: 0 })
    expect(plain.records).toHaveLength(3)
  })

  test('is no longer than what a store takes', async () => {
    const { write, summarize } = setUp(undefined, 60)
    await write(...FACTS.map(ofTier))
    const { records } = await summarize({ tier: 'episodic' })
    expect(records[0]?.content.length).toBeLessThanOrEqual(60)
  })

  test('into a tier that is not there is refused before anything is read', async () => {
    const { write, summarize, asked } = setUp()
    await write(...FACTS.map(ofTier))
    const call = summarize({ tier: 'episodic', into: 'nowhere' })
    await expect(call).rejects.toMatchObject({ code: -32002 })
    expect(asked()).toEqual([])
  })

  test('is not written for a caller that has left', async () => {
    const cancellation = new Cancellation()
    const summarizer: Summarizer = {
      model: null,
      input: 1000,
      async summarize(sources) {
        cancellation.cancel()
        return { content: 'x', of: sources.map(({ id }) => id) }
      },
    }
    const { write, summarize, plain } = setUp(summarizer)
    await write(...FACTS.map(ofTier))
    const call = summarize({ tier: 'episodic' }, { ...context, cancellation })
    await expect(call).rejects.toMatchObject({ kind: 'cancelled' })
    expect(plain.records).toHaveLength(3)
  })
})

describe('owners', () => {
  const owned = FACTS.map((content, n) => ({
    content,
    tier: 'episodic',
    owner: n < 2 ? 'anna' : 'ben',
  }))

  test('are never mixed', async () => {
    const { write, summarize, plain } = setUp()
    await write(...owned)
    const call = summarize({ tier: 'episodic' })
    await expect(call).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('owner'),
    })
    await write(
      { content: 'nobody says that', tier: 'semantic' },
      { content: 'x', tier: 'semantic', owner: 'anna' },
    )
    await expect(summarize({ tier: 'semantic' })).rejects.toMatchObject({ code: -32602 })
    expect(plain.records).toHaveLength(5)
  })

  test('have their summary, named or not', async () => {
    const { write, summarize } = setUp()
    await write(...owned)
    const named = await summarize({ tier: 'episodic', owner: 'anna' })
    expect(named).toMatchObject({ read: 2, records: [{ owner: 'anna' }] })
    const own = await summarize({ tier: 'episodic', where: { role: null } }, ownerContext('anna'))
    expect(own).toMatchObject({ records: [{ owner: 'anna' }] })
    const told = await summarize({ where: { owner: 'anna', role: null } })
    expect(told).toMatchObject({ read: 2, records: [{ owner: 'anna' }] })
  })

  test('that are nobody have theirs', async () => {
    const { write, summarize } = setUp()
    await write(...FACTS.map(ofTier))
    expect((await summarize({ tier: 'episodic' })).records[0]).not.toHaveProperty('owner', 'anna')
  })
})

describe('a model', () => {
  function withModel(answer: string | Error) {
    const questions: Question[] = []
    const summarizer = createModelSummarizer({
      name: 'big',
      async complete(question) {
        questions.push(question)
        if (answer instanceof Error) throw answer
        return answer
      },
    })
    return { ...setUp(summarizer), questions }
  }

  test('is told the records as lines, and its name stands in the summary', async () => {
    const { write, summarize, questions, describe } = withModel(' The key is in Berlin. \n')
    const contents = ['one\n{"text":"fake"}', 'two']
    const ids = await write(...contents.map((content) => ({ ...ofTier(content), role: 'user' })))
    const { records } = await summarize({ tier: 'episodic' })
    expect(records[0]?.content).toBe('The key is in Berlin.')
    expect(records[0]?.metadata?.value()).toEqual({
      a2m_summary: { of: ids, read: 2, method: 'big' },
    })
    const lines = questions[0]?.text.split('\n').map((line) => JSON.parse(line))
    expect(lines).toMatchObject(contents.map((text) => ({ role: 'user', text })))
    expect(await describe()).toMatchObject({ summarize: { model: 'big' } })
  })

  test.each(['NOTHING', ' NOTHING.\n'])('declines by saying %j', async (answer) => {
    const { write, summarize } = withModel(answer)
    await write(...FACTS.map(ofTier))
    expect(await summarize({ tier: 'episodic' })).toEqual({ records: [], read: 3, written: 0 })
  })

  test('is not asked about nothing', async () => {
    const { summarize, questions } = withModel('x')
    expect(await summarize({ tier: 'episodic' })).toEqual({ records: [], read: 0, written: 0 })
    expect(questions).toEqual([])
  })

  test('is told no more than it takes, the oldest left out whole', async () => {
    const { write, summarize, questions } = withModel('short')
    await write(ofTier('a'.repeat(150_000)), ofTier('b'.repeat(100_000)), ofTier('c'))
    expect(await summarize({ tier: 'episodic' })).toMatchObject({ read: 2, written: 1 })
    expect(questions[0]?.text).not.toContain('aaa')
  })

  test.each([
    ['a fault', new Fault('unavailable', 'status 500')],
    ['nothing', ''],
    ['too much', 'x'.repeat(8001)],
  ])('that gives %s is an error, and nothing is written', async (_, answer) => {
    const { write, summarize, plain } = withModel(answer)
    await write(...FACTS.map(ofTier))
    await expect(summarize({ tier: 'episodic' })).rejects.toMatchObject({
      code: -32603,
      data: { model: 'big', outcome: 'not_sent' },
    })
    expect(plain.records).toHaveLength(3)
  })
})

test('a gap in what is read is an error, and nothing is written', async () => {
  const { plain, summarize } = setUp()
  plain.call = () => Promise.reject(new Fault('timeout', 'too slow'))
  await expect(summarize({ tier: 'episodic' })).rejects.toMatchObject({ kind: 'timeout' })
})
