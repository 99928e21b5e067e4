import { describe, expect, test } from 'vitest'
import type { Context } from '../../../src/protocol/memory.js'
import { withoutTokens } from '../../../src/telemetry/logs.js'
import { ownerTokens } from '../../../src/upstreams/owner-tokens.js'
import { internalContext } from '../../../src/upstreams/upstream.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'

const verifier = { upstream: 'vault', audience: 'https://vault' }
/** Shows what it was asked for instead of a token. */
const signer = {
  token: ({ audience }: typeof verifier, subject: string) => `${subject} at ${audience}`,
}
const vouching = (ownCredential: 'given' | 'none') =>
  ownerTokens({ signer, verifier, subject: 'gateway', ownCredential })
const ask = (owner: Context['owner']) => ({ ...anyContext(), owner })

describe('what goes along with an ask', () => {
  test.each(['given', 'none'] as const)(
    'of one owner is a token of that owner, with a credential %s beside it',
    (credential) => {
      expect(vouching(credential)(ask('anna'))).toBe('anna at https://vault')
    },
  )

  test('is the owner’s of the ask and not the caller’s', () => {
    expect(vouching('none')({ ...ownerContext('ben'), owner: 'anna' })).toBe(
      'anna at https://vault',
    )
  })

  test.each([undefined, null])('of %s is the credential of the gateway', (owner) => {
    expect(vouching('given')(ask(owner))).toBeUndefined()
  })

  test.each([undefined, null])('of %s without such a credential is not sent', (owner) => {
    expect(() => vouching('none')(ask(owner))).toThrow('for one owner at a time')
  })

  test('is the gateway’s own token where it is no ask', () => {
    for (const credential of ['given', 'none'] as const) {
      expect(vouching(credential)(internalContext(0))).toBe('gateway at https://vault')
    }
  })
})

describe('a text that an upstream says', () => {
  const token = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl-_'

  test.each([
    [`Bearer ${token} is not valid`, 'Bearer [redacted] is not valid'],
    [`a=${token}&b=${token}`, 'a=[redacted]&b=[redacted]'],
    [`${token.slice(0, -14)}`, '[redacted]'],
    ['eyJ is how they begin', 'eyJ is how they begin'],
    ['keyJ.a.b', 'keyJ.a.b'],
    ['nothing', 'nothing'],
  ])('%j is told as %j', (said, told) => {
    expect(withoutTokens(said)).toBe(told)
  })
})
