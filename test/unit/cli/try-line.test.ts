import { expect, test } from 'vitest'
import { curlOf } from '../../../src/cli/try-line.js'
import { loadConfig } from '../../../src/config/load.js'

const KEYS = `keys: [{ name: a, owner: a, sha256: "${'0'.repeat(64)}" }]`
const JWT = `jwt: [{ issuer: i, audience: a, jwks_uri: "https://i.example/", algorithms: [EdDSA] }]`
const MTLS = 'mtls: { owner: san_uri }'
const TLS = 'listen: { tls: { cert: c.pem, key: k.pem, ca: ca.pem } }'

test.each([
  ['nobody has to show anything', '{}', "json' -d '{"],
  [
    'keys, among others',
    `{ auth: { ${KEYS}, ${JWT} } }`,
    "json' -H 'authorization: Bearer KEY' -d",
  ],
  ['tokens alone', `{ auth: { ${JWT} } }`, "json' -H 'authorization: Bearer TOKEN' -d"],
  [
    'tokens or certificates',
    `{ auth: { ${JWT}, ${MTLS} }, ${TLS} }`,
    "json' -H 'authorization: Bearer TOKEN' -d",
  ],
  ['certificates alone', `{ auth: { ${MTLS} }, ${TLS} }`, "json' --cert CERT.pem --key KEY.pem -d"],
])('%s', (_, text, told) => {
  const { auth } = loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/nowhere' })
  expect(curlOf(new URL('https://127.0.0.1:1/a2m'), auth)).toContain(told)
})
