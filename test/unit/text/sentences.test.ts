import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePoints } from '../../../src/text/points.js'
import { sentences } from '../../../src/text/sentences.js'
import { anyText } from '../../support/any-text.js'

test.each<[string, string, string[]]>([
  ['nothing', '', []],
  ['space', ' \n\t ', []],
  ['one without an end', 'the key rotates', ['the key rotates']],
  ['two', 'It rotates. It is long.', ['It rotates.', 'It is long.']],
  ['signs in a row', 'What?! No... wait. Yes!', ['What?!', 'No... wait.', 'Yes!']],
  [
    'quotes',
    'He said "Go." Then (he left.) She stayed.',
    ['He said "Go."', 'Then (he left.)', 'She stayed.'],
  ],
  ['a question in a sentence', '"Really?" he said. Yes.', ['"Really?" he said.', 'Yes.']],
  ['titles and initials', 'Dr. J. R. Smith came. He left.', ['Dr. J. R. Smith came.', 'He left.']],
  [
    'abbreviations',
    'See Fig. 3, e.g. Apples vs. Pears. Done.',
    ['See Fig. 3, e.g. Apples vs. Pears.', 'Done.'],
  ],
  [
    'German ones',
    'Das ist z.B. Obst. Es gilt Nr. 5 bzw. Sechs. Gut.',
    ['Das ist z.B. Obst.', 'Es gilt Nr. 5 bzw. Sechs.', 'Gut.'],
  ],
  [
    'numbers and names',
    'Version 1.2.3 of example.com costs 3.50 today. Buy.',
    ['Version 1.2.3 of example.com costs 3.50 today.', 'Buy.'],
  ],
  [
    'Japanese',
    '東京は晴れ。大阪は雨！「本当？」はい',
    ['東京は晴れ。', '大阪は雨！', '「本当？」', 'はい'],
  ],
  ['Chinese', '密钥每90天轮换。请记住它！', ['密钥每90天轮换。', '请记住它！']],
  ['Hindi', 'यह एक है। यह दूसरा है॥ अंत', ['यह एक है।', 'यह दूसरा है॥', 'अंत']],
  ['Arabic and Urdu', 'هل هذا؟ نعم. یہ ہے۔ ختم', ['هل هذا؟', 'نعم.', 'یہ ہے۔', 'ختم']],
  ['Armenian, Ethiopic, Burmese, Khmer', 'Ա։ አ። မ။ ក។', ['Ա։', 'አ።', 'မ။', 'ក។']],
  ['a wrapped line', 'It goes\non here. And\r\nthere', ['It goes\non here.', 'And\r\nthere']],
  ['paragraphs', 'one line\n\nanother line', ['one line', 'another line']],
  [
    'lines that begin anew',
    'First line\nSecond line\r\n第三',
    ['First line', 'Second line', '第三'],
  ],
  [
    'lists',
    '- Apples\n* Pears\n• Plums\n1. Figs\n2) Dates',
    ['Apples', 'Pears', 'Plums', 'Figs', 'Dates'],
  ],
  ['headings', '# Title\nBody. > no', ['Title', 'Body.', '> no'.slice(2)]],
])('%s', (_, text, expected) => {
  expect(sentences(text)).toEqual(expected)
})

test('each stands in the text, in order, and none of the letters is lost', () => {
  const pieces = fc.array(
    fc.oneof(
      anyText(0, 8),
      fc.constantFrom('. ', '! ', '。', '\n', '\n\n', ' a ', 'B', '"', '1. ', '- '),
    ),
  )
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('')
      let from = 0
      for (const sentence of sentences(text)) {
        const at = text.indexOf(sentence, from)
        expect(at).toBeGreaterThanOrEqual(from)
        expect(sentence.trim()).toBe(sentence)
        expect(sentence).not.toBe('')
        from = at + sentence.length
      }
      const letters = (one: string) => one.replace(/[^\p{L}]/gu, '')
      expect(letters(sentences(text).join(''))).toBe(letters(text))
    }),
  )
})

test.each([
  ['full stops', '.'],
  ['line breaks', '\n'],
  ['spaces', ' '],
  ['quotes after a stop', '.")'],
  ['short sentences', 'a. '],
])('a megabyte of %s takes no more than a moment', (_, piece) => {
  const text = piece.repeat(Math.ceil(1e6 / piece.length))
  const start = performance.now()
  sentences(`${text}x`)
  expect(performance.now() - start).toBeLessThan(1500)
})

test('lengths are in code points', () => {
  expect(codePoints('')).toBe(0)
  fc.assert(
    fc.property(anyText(0, 40), (text) => {
      expect(codePoints(text)).toBe([...text].length)
    }),
  )
})
