import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Tokenizer } from '../../../src/text/tokenizer.js'
import { anyText } from '../../support/any-text.js'

const tokenizer = new Tokenizer()

test.each([
  ['', []],
  [' \t\n.,;:!?—…"\'', []],
  ['The quick brown foxes', ['the', 'quick', 'brown', 'fox']],
  ['tool_call v2.10 C3PO', ['tool', 'call', 'v2', '10', 'c3po']],
  ["don't", ['don', 't']],
  ['running, generalizations', ['run', 'gener']],
  ['“quoted” — and…done', ['quot', 'and', 'done']],
  ['co\u00adoperate', ['cooper']],
  ['a\u0000b\u2028c', ['a', 'b', 'c']],
  ['lone \ud83d half', ['lone', 'half']],
  ['Café naïve Straße ŁÓDŹ smørrebrød', ['cafe', 'naiv', 'strass', 'lodz', 'smorrebrod']],
  ['İstanbul ısı', ['istanbul', 'isi']],
  ['ﬁne Ｆｕｌｌ ①', ['fine', 'full', '1']],
  ['Ёлка её йод', ['елка', 'ее', 'йод']],
  ['за́мок Київ', ['замок', 'київ']],
  ['Αθήνα ἈΘΗ͂ΝΑΙ Ὀδυσσεύς', ['αθηνα', 'αθηναι', 'οδυσσευσ']],
  ['مُحَمَّد أحمد إلى مكتبة ٣', ['محمد', 'احمد', 'الي', 'مكتبه', '3']],
  ['שָׁלוֹם', ['שלום']],
  ['नमस्ते दुनिया', ['नमस्ते', 'दुनिया']],
  ['서울에서 만나요', ['서울에서', '만나요']],
])('%j is cut into words', (text, terms) => {
  expect(tokenizer.index(text)).toEqual(terms)
  expect(tokenizer.query(text)).toEqual(terms)
})

test.each([
  ['東京', ['東', '京', '東京'], ['東京']],
  ['京', ['京'], ['京']],
  ['東京に', ['東', '京', 'に', '東京', '京に'], ['東京', '京に']],
  ['ﾃｽﾄ', ['テ', 'ス', 'ト', 'テス', 'スト'], ['テス', 'スト']],
  ['A東京tower2', ['a', '東', '京', '東京', 'tower2'], ['a', '東京', 'tower2']],
  ['東、京', ['東', '京'], ['東', '京']],
  ['𠮷野', ['𠮷', '野', '𠮷野'], ['𠮷野']],
  ['ไทย', ['ไ', 'ท', 'ย', 'ไท', 'ทย'], ['ไท', 'ทย']],
])('%j, written without spaces, is cut into characters and pairs', (text, index, query) => {
  expect(tokenizer.index(text)).toEqual(index)
  expect(tokenizer.query(text)).toEqual(query)
})

test('composed and decomposed spellings are one term', () => {
  for (const word of ['é', 'Å', 'ё', 'ή', 'が', '각', 'أ']) {
    expect(tokenizer.index(`x${word}`.normalize('NFD'))).toEqual(tokenizer.index(`x${word}`))
  }
})

test('й is a letter of its own, however it is spelt', () => {
  expect(tokenizer.index('мой'.normalize('NFD'))).toEqual(['мой'])
  expect(tokenizer.index('мои')).toEqual(['мои'])
})

test('a long word is cut, and never through a character', () => {
  expect(tokenizer.index('x'.repeat(100_000))).toEqual(['x'.repeat(40)])
  const [cut = ''] = tokenizer.index(`${'x'.repeat(39)}${'𐐷'.repeat(9)}`)
  expect(cut).toBe('x'.repeat(39))
})

test('every term is letters, digits and marks, bounded, and finds the text it is from', () => {
  fc.assert(
    fc.property(anyText(0, 60), (text) => {
      const index = tokenizer.index(text)
      expect(index.filter((term) => !/^[\p{L}\p{N}\p{M}]+$/u.test(term))).toEqual([])
      expect(index.filter((term) => /[A-Z]/.test(term) || term.length > 80)).toEqual([])
      expect(tokenizer.query(text).filter((term) => !index.includes(term))).toEqual([])
    }),
    { numRuns: 400 },
  )
})

test('what is remembered of words does not change the answer', () => {
  const worn = new Tokenizer()
  for (let word = 0; word < 50_000; word++) worn.index(`word${word} walking`)
  expect(worn.index('walking Café word1')).toEqual(new Tokenizer().index('walking Café word1'))
})
