import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Backgrounds } from '../../../src/federation/ranking/backgrounds.js'
import { Lexical, rankByTerms } from '../../../src/federation/ranking/lexical.js'
import { hashTerm, TermCache, type Terms } from '../../../src/federation/ranking/terms.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { Tokenizer } from '../../../src/text/tokenizer.js'
import { HandClock } from '../../support/hand-clock.js'

const tokenizer = new Tokenizer()
const cache = new TermCache(tokenizer)
const read = (text: string): Terms => cache.terms('o', text, () => {})
const ask = (text: string) => cache.query(text)

const frequencies = (
  texts: number,
  averageLength: number,
  found: Readonly<Record<string, number>>,
) => {
  const of = new Map(Object.entries(found).map(([term, n]) => [hashTerm(term), n]))
  return { texts, averageLength, of: (hash: number) => of.get(hash) ?? 0 }
}

describe('BM25', () => {
  /**
   * Of 10 texts of 4 terms on average, "common" is in 9 and "rare" in 1: their weights are ln(1 + 1.5/9.5) = 0.1466 and
   * ln(1 + 9.5/1.5) = 1.9924. A term that occurs f times in a text of n terms counts f * 2.2 / (f + 1.2 * (0.25 + 0.75 * n/4)).
   */
  const known = frequencies(10, 4, { common: 9, rare: 1 })
  test.each<[string, string[], string, number[]]>([
    // 1.9924 against 0.1466 * 3 * 2.2 / 4.2 = 0.2303
    [
      'a rare term beats a common one repeated',
      ['common common common x', 'rare x y z'],
      'common rare',
      [1, 0],
    ],
    // 2 * 2.2 / 3.2 = 1.375 against 1
    ['twice beats once at one length', ['rare x y z', 'rare rare y z'], 'rare', [1, 0]],
    // once in 2 terms 2.2 / 1.75 = 1.2571; twice in 12 terms 4.4 / 5.0 = 0.88
    [
      'a short text beats a long one that says it twice',
      ['rare rare a1 b1 c1 d1 e1 f1 g1 h1 i1 j1', 'rare x'],
      'rare',
      [1, 0],
    ],
    // 0.1466 + 1.9924 against 1.9924 * 1.375
    [
      'a rare term twice beats both terms once',
      ['common rare y z', 'rare rare y z'],
      'common rare',
      [1, 0],
    ],
    ['texts without any of the terms are left out', ['x', 'rare', ''], 'rare', [1]],
    ['equal texts stay in their order', ['rare', 'x', 'rare'], 'rare', [0, 2]],
    ['a question of unknown terms finds what has them', ['unheard', 'rare'], 'unheard', [0]],
    ['no texts', [], 'rare', []],
  ])('%s', (_, texts, question, wanted) => {
    expect(rankByTerms(texts.map(read), ask(question), known)).toEqual(wanted)
  })

  test('with nothing learnt every term weighs the same', () => {
    const nothing = frequencies(0, 0, {})
    expect(rankByTerms(['common x', 'common rare'].map(read), ask('common rare'), nothing)).toEqual(
      [1, 0],
    )
  })

  test('frequencies that contradict themselves turn no order round', () => {
    const wrong = frequencies(3, Number.NaN, { common: 1000, rare: 1 })
    expect(rankByTerms(['common', 'rare', 'x'].map(read), ask('common rare'), wrong)).toEqual([
      1, 0,
    ])
  })

  test('the ranking is of the matching texts, each once, whatever the frequencies', () => {
    const text = fc
      .array(fc.constantFrom('ab', 'cd', 'ef', 'gh'), { maxLength: 6 })
      .map((w) => w.join(' '))
    fc.assert(
      fc.property(fc.array(text), text, fc.nat(50), fc.nat(50), (texts, question, n, found) => {
        const ranked = rankByTerms(texts.map(read), ask(question), frequencies(n, 3, { ab: found }))
        const words = question.split(' ').filter(Boolean)
        const matching = texts.flatMap((one, index) =>
          words.some((word) => one.split(' ').includes(word)) ? [index] : [],
        )
        expect(ranked.toSorted((a, b) => a - b)).toEqual(matching)
      }),
    )
  })
})

describe('terms', () => {
  test('each distinct term once, with its count, and all in the length', () => {
    const { hashes, counts, length } = read('red apple, red car')
    const of = (term: string) => counts[hashes.indexOf(hashTerm(term))]
    expect([length, hashes.length, of('red'), of('car')]).toEqual([4, 3, 2, 1])
  })

  test.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('FNV-1a of %j', (term, wanted) => {
    expect(hashTerm(term)).toBe(wanted | 0)
  })

  test('a term that is repeated beyond all measure still counts', () => {
    const flood = read('rare '.repeat(65_536))
    expect(rankByTerms([flood], ask('rare'), frequencies(1, 65_536, {}))).toEqual([0])
  })

  test('a text is cut once an owner, and owners and texts never run together', () => {
    const cache = new TermCache(tokenizer)
    const made: string[] = []
    const cut = (owner: string, text: string) =>
      cache.terms(owner, text, ({ length }) => made.push(`${owner} ${length}`))
    cut('alice', 'one two')
    cut('alice', 'one two')
    cut('bob', 'one two')
    cut('a', 'b\0one')
    cut('a\0b', 'one')
    expect(made).toEqual(['alice 2', 'bob 2', 'a 2', 'a\0b 1'])
  })

  test('texts too large to be remembered are cut all the same', () => {
    const cache = new TermCache(tokenizer)
    let made = 0
    const huge = 'x'.repeat(40 << 20)
    for (let n = 0; n < 2; n++) expect(cache.terms('o', huge, () => made++).length).toBe(1)
    expect(made).toBe(2)
  })
})

describe('the voter', () => {
  const record = (content: string, index: number): MemoryRecord => ({
    id: `${index}`,
    content,
    created_at: '2026-01-01T00:00:00.000Z',
  })
  const ranked = (
    lexical: Lexical,
    owner: string | null | undefined,
    query: string,
    texts: string[],
  ) => lexical.voter(owner, query)?.rank(texts.map(record))

  function lexicalOf(weight = 1): Lexical {
    const keeper = { read: () => undefined, write: () => {} }
    const backgrounds = new Backgrounds(keeper, new HandClock(), () => {})
    return new Lexical({ weight, terms: new TermCache(tokenizer), backgrounds })
  }

  const TEXTS = ['alpha alpha', 'beta']
  const flood = (term: string) => Array.from({ length: 40 }, (_, n) => `${term} filler${n}`)

  test("what is common among an owner's texts counts less there", () => {
    const lexical = lexicalOf()
    expect(ranked(lexical, 'alice', 'alpha or beta', TEXTS)).toEqual([0, 1])
    lexical.learn('alice', flood('alpha'))
    expect(ranked(lexical, 'alice', 'alpha and beta', TEXTS)).toEqual([1, 0])
  })

  test('equal calls order equally, whatever is learnt between them', () => {
    const lexical = lexicalOf()
    const before = ranked(lexical, 'alice', 'alpha beta', TEXTS)
    lexical.learn('alice', flood('alpha'))
    expect(ranked(lexical, 'alice', 'alpha beta', TEXTS)).toEqual(before)
  })

  test('the texts of one owner never touch the order of another', () => {
    const owner = fc.option(fc.constantFrom('', 'any', 'none', 'owner:alice', 'bob', 'alice\0x'))
    fc.assert(
      fc.property(owner, fc.array(fc.constantFrom('alpha', 'beta')), (other, terms) => {
        const [alone, beside] = [lexicalOf(), lexicalOf()]
        beside.learn(other, terms.flatMap(flood))
        beside.learn(undefined, flood('alpha'))
        for (const query of ['alpha beta', 'alpha or beta']) {
          expect(ranked(beside, 'alice', query, TEXTS)).toEqual(
            ranked(alone, 'alice', query, TEXTS),
          )
        }
      }),
      { numRuns: 30 },
    )
  })

  test('without weight or terms nobody votes', () => {
    expect(lexicalOf(0).voter('alice', 'alpha')).toBeUndefined()
    expect(lexicalOf().voter('alice', '?!')).toBeUndefined()
    expect(lexicalOf(2.5).voter('alice', 'alpha')).toMatchObject({ name: 'lexical', weight: 2.5 })
  })
})
