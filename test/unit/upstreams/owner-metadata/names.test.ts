import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inKeyRange, keyRange } from '../../../../src/protocol/key-prefix.js'
import { isQualified, Names, unqualified } from '../../../../src/upstreams/owner-metadata/names.js'
import { anyText } from '../../../support/any-text.js'

/** Any owner, those that could be taken for something else among them; half surrogates too, which JSON may hold. */
const owner = fc.oneof(
  fc.constant(null),
  anyText(1, 12),
  fc.string({ unit: 'binary', minLength: 1 }),
  anyText(60, 90),
  fc.constantFrom(
    'n',
    'o.n',
    'n/',
    'anna',
    'Anna',
    'ANNA',
    'a/b',
    'a~41~',
    '~41~',
    '.',
    '..',
    '\ud800',
    '\ud801',
  ),
)
const text = fc.oneof(anyText(1, 20), fc.constantFrom('/', '//', 'n/x', 'o.anna/x', 'wf/1'))

describe('a name', () => {
  test('is its owner’s alone, and comes back as it was', () => {
    fc.assert(
      fc.property(owner, text, (one, name) => {
        const names = new Names(one)
        const qualified = names.qualify(name)
        expect(names.restore(qualified)).toBe(name)
        expect(isQualified(qualified)).toBe(true)
        expect(unqualified(qualified)).toBe(name)
      }),
    )
  })

  test('never meets that of another owner', () => {
    fc.assert(
      fc.property(owner, owner, text, text, (one, other, name, another) => {
        fc.pre(one !== other)
        const qualified = new Names(one).qualify(name)
        expect(qualified).not.toBe(new Names(other).qualify(another))
        expect(new Names(other).restore(qualified)).toBeUndefined()
      }),
    )
  })

  test('nor where a store folds case or normalises', () => {
    const folded = (name: string) => name.normalize('NFKC').toLowerCase()
    fc.assert(
      fc.property(owner, owner, (one, other) => {
        fc.pre(one !== other)
        expect(folded(new Names(one).qualify('x'))).not.toBe(folded(new Names(other).qualify('x')))
      }),
    )
  })

  test('stays a path: what is beneath a prefix is so at the upstream, and nobody else’s', () => {
    const path = fc
      .array(fc.constantFrom('wf', '1', '10', 'x'), { minLength: 1 })
      .map((parts) => parts.join('/'))
    fc.assert(
      fc.property(owner, owner, path, path, (one, other, prefix, key) => {
        const there = keyRange(new Names(one).qualify(prefix))
        const within = inKeyRange(key, keyRange(prefix))
        expect(inKeyRange(new Names(one).qualify(key), there)).toBe(within)
        if (one !== other) expect(inKeyRange(new Names(other).qualify(key), there)).toBe(false)
      }),
    )
  })

  test('is longer by 67 characters at the most', () => {
    fc.assert(
      fc.property(owner, (one) => {
        const prefix = new Names(one).qualify('')
        expect(prefix).toMatch(/^[a-z0-9_.@~-]{1,66}\/$/)
      }),
    )
  })

  test.each(['x', '', '/', 'n', 'note/1', 'o/x', 'o.Anna/x', 'h.12/x'])('is not %j', (other) => {
    expect(isQualified(other)).toBe(false)
    expect(unqualified(other)).toBe(other)
  })
})
