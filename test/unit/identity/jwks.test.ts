import nock from 'nock'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseKeySet, readUrl } from '../../../src/identity/jwks.js'

const AT = 'https://id.example'

beforeEach(() => {
  nock.disableNetConnect()
})

afterEach(() => {
  nock.cleanAll()
  nock.enableNetConnect()
  nock.restore()
  nock.activate()
})

test('a key set is read over https, with nothing of anybody in the request', async () => {
  const headers: Record<string, unknown>[] = []
  nock(AT)
    .get('/keys?v=1')
    .reply(function answer() {
      headers.push(this.req.headers)
      return [200, { keys: [] }]
    })
  expect(await readUrl(`${AT}/keys?v=1`, 1000)).toBe('{"keys":[]}')
  expect(headers[0]).not.toHaveProperty('authorization')
  expect(headers[0]).not.toHaveProperty('cookie')
})

test('a redirect to another host is not followed, however well that answers', async () => {
  nock(AT).get('/keys').reply(301, '', { location: 'https://evil.example/keys' })
  const evil = nock('https://evil.example').get('/keys').reply(200, { keys: [] })
  await expect(readUrl(`${AT}/keys`, 1000)).rejects.toThrow(
    'answered 301, and redirects are not followed',
  )
  expect(evil.isDone()).toBe(false)
})

test.each(['CERT_HAS_EXPIRED', 'ENOTFOUND', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
  'an issuer that fails with %s is told of by that',
  async (code) => {
    nock(AT)
      .get('/keys')
      .replyWithError(Object.assign(new Error('no'), { code }))
    await expect(readUrl(`${AT}/keys`, 1000)).rejects.toThrow(`cannot be reached (${code})`)
  },
)

test('what is no key set is none, and a key keeps all that it says', () => {
  for (const text of ['', '{', '[]', 'null', '{}', '{"keys":{}}', '{"keys":[null]}']) {
    expect(() => parseKeySet(text)).toThrow(/^is (not JSON|no JSON Web Key Set)$/)
  }
  const key = { kty: 'OKP', crv: 'Ed25519', x: 'AA', kid: 'a' }
  expect(parseKeySet(JSON.stringify({ keys: [key], more: 1 }))).toEqual({ keys: [key] })
})
