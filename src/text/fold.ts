/** Marks that spell no other word in these scripts; elsewhere (Devanagari, Thai) a mark is a vowel and stays. */
const FOLDED_SCRIPTS = /[\p{scx=Latn}\p{scx=Grek}\p{scx=Arab}\p{scx=Hebr}]/u
const CYRILLIC = /\p{scx=Cyrl}/u
const MARKS = /\p{Mn}/gu

/** Letters that no normalization takes apart, and the ones that people type for them. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ł: 'l',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
  ى: 'ي',
  ی: 'ي',
  ک: 'ك',
  ة: 'ه',
  ـ: '',
}
const SPECIAL = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu')
const ARABIC_DIGITS = /[\u0660-\u0669\u06f0-\u06f9]/g

/**
 * Folds a lower-case NFKC word: diacritics off in Latin, Greek, Arabic and Hebrew; in Cyrillic ё is е and stress marks
 * go, while й, which is a letter of its own, stays.
 */
export function fold(word: string): string {
  if (CYRILLIC.test(word)) return word.replaceAll('ё', 'е').replace(MARKS, '')
  if (!FOLDED_SCRIPTS.test(word)) return word
  return word
    .normalize('NFD')
    .replace(MARKS, '')
    .replace(SPECIAL, (letter) => LETTERS[letter] ?? letter)
    .replace(ARABIC_DIGITS, (digit) => String(digit.charCodeAt(0) & 0xf))
}
