import fc from 'fast-check'

/** Any code points but half surrogates, ASCII and the rest of the basic plane as often as what lies beyond. */
const character = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((point) => String.fromCodePoint(point))

/** Any well-formed text of so many characters at most. */
export const anyText = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.array(character, { minLength, maxLength }).map((characters) => characters.join(''))
