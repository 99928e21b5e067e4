import fc from 'fast-check'

/** Numerals, strings and names whose source a parse and a print would change, or that look like structure. */
const NUMERALS = ['0', '-0', '1.0', '1e400', '9007199254740993', '-1.50E+2', '0.1']
const STRINGS = [
  '""',
  '"metadata"',
  '"\\"metadata\\":{"',
  '"a\\\\"',
  '"\\\\\\""',
  '"\\u0041"',
  '"\\ud83d\\ude00"',
  '"\\\\ud800"',
  '"},{[,:"',
  '"東京 \u2028 😀"',
  '"\\n\\r\\t\\u0000"',
]
const NAMES = [
  '"a"',
  '"10"',
  '"2"',
  '"__proto__"',
  '"constructor"',
  '"metadata"',
  '"records"',
  '"record"',
  '"id"',
  '"where"',
  '"m\\u0065tadata2"',
  '"\\u0061b"',
  '"\\"q\\""',
  '""',
]

const space = fc.constantFrom('', '', '', ' ', '\n', '\r\n', '\t ')

function joined(
  parts: fc.Arbitrary<readonly string[]>,
  open: string,
  close: string,
): fc.Arbitrary<string> {
  return fc
    .tuple(parts, space, space)
    .map(
      ([texts, before, after]) =>
        `${open}${before}${texts.join(`${after},${before}`)}${after}${close}`,
    )
}

const { value, object } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...NUMERALS, ...STRINGS, 'true', 'false', 'null'),
    tie('array'),
    tie('object'),
  ),
  array: joined(fc.array(tie('value'), { maxLength: 4 }), '[', ']'),
  object: objectOf(tie('value')),
}))

function objectOf(values: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const members = fc
    .uniqueArray(fc.constantFrom(...NAMES), { maxLength: 5 })
    .chain((names) => fc.tuple(...names.map((name) => values.map((text) => `${name}:${text}`))))
  return joined(members, '{', '}')
}

/** The source of any JSON value, and that of any JSON object, without duplicate names. */
export const jsonSource: fc.Arbitrary<string> = value
export const objectSource: fc.Arbitrary<string> = object

/** What is kept of a source: line breaks, which stand only between tokens, are taken out, and the ends trimmed. */
export function kept(source: string): string {
  return source.replace(/[\r\n]/g, '').trim()
}
