import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonText } from '../../../../src/protocol/json.js'
import {
  NOBODYS,
  stamp,
  stampOf,
  Unstamper,
  unstamp,
} from '../../../../src/upstreams/owner-metadata/stamp.js'
import { OWNER_MEMBER } from '../../../../src/upstreams/reserved.js'
import { anyText } from '../../../support/any-text.js'

const owner = fc.oneof(
  fc.constant(null),
  anyText(1, 12),
  fc.constantFrom('-', '=', '?', '"', OWNER_MEMBER),
)
const metadata = fc.oneof(
  fc.constant(undefined),
  fc
    .constantFrom(
      '{}',
      '{ }',
      '{"a":1}',
      '{"n":9007199254740993,"x":1.0,"z":-0}',
      '{"__proto__":{"a":[]}}',
    )
    .map((text) => new JsonText(text)),
  fc.dictionary(anyText(1, 5), fc.jsonValue()).map((value) => JsonText.of(value)),
)

function sorted(value: unknown): unknown {
  return value === undefined ? undefined : Object.entries(value as object).toSorted()
}

describe('the owner in metadata', () => {
  test('is read as it was written, and the rest stays to the letter', () => {
    fc.assert(
      fc.property(owner, metadata, (one, given) => {
        const stamped = stamp(given, one)
        const expected = given?.text.replace(/^\{\s+\}$/, '{}')
        const read = unstamp(stamped)
        expect(read).toMatchObject({ owner: one })
        expect(typeof read === 'string' ? read : read.metadata?.text).toBe(expected)
        const quick = new Unstamper(one).read(stamped, one)
        expect(quick === 'foreign' ? quick : quick?.text).toBe(expected)
      }),
    )
  })

  test('is the same where the upstream prints metadata anew', () => {
    fc.assert(
      fc.property(owner, metadata, (one, given) => {
        const value = Object.entries(stamp(given, one).value() as object).toReversed()
        const again = new JsonText(
          JSON.stringify(Object.fromEntries(value), undefined, 1).replace(/\n/g, ' '),
        )
        const read = new Unstamper(one).read(again, one)
        expect(read).not.toBe('foreign')
        if (read !== 'foreign')
          expect(JSON.stringify(sorted(read?.value()))).toBe(JSON.stringify(sorted(given?.value())))
      }),
    )
  })

  test('is nobody else’s', () => {
    fc.assert(
      fc.property(owner, owner, metadata, (one, other, given) => {
        fc.pre(one !== other)
        expect(stampOf(one)).not.toBe(stampOf(other))
        expect(stampOf(one)).not.toBe(NOBODYS)
        expect(new Unstamper(other).read(stamp(given, one), other)).toBe('foreign')
      }),
    )
  })

  test.each([
    ['none', undefined],
    ['none', '{}'],
    ['none', '{"a":{"a2m-gateway-owner":"=anna"}}'],
    ['none', '{"a":"a2m-gateway-owner"}'],
    ['malformed', '{"a2m-gateway-owner":"anna"}'],
    ['malformed', '{"a2m-gateway-owner":"="}'],
    ['malformed', '{"a2m-gateway-owner":"?"}'],
    ['malformed', '{"a2m-gateway-owner":null}'],
    ['malformed', '{"a2m-gateway-owner":["=anna"]}'],
    ['malformed', '{"a2m-gateway-owner":{"owner":"anna"}}'],
  ])('is %s in %s', (what, text) => {
    const given = text === undefined ? undefined : new JsonText(text)
    expect(unstamp(given)).toBe(what)
    expect(new Unstamper('anna').read(given, 'anna')).toBe('foreign')
    expect(new Unstamper(null).read(given, null)).toBe('foreign')
  })

  test('said twice is not taken by its first word', () => {
    const twice = new JsonText('{"a2m-gateway-owner":"=anna","a2m-gateway-owner":"=ben"}')
    expect(new Unstamper('anna').read(twice, 'anna')).toBe('foreign')
  })
})
