import { expect, test } from 'vitest'
import {
  type Certificate,
  type CertificateRule,
  createFindHolder,
  readAlternatives,
} from '../../../src/identity/certificates.js'

const CERTIFICATE: Certificate = {
  names: {
    san_uri: ['spiffe://acme.example/agent/ann'],
    san_dns: ['a.example', 'b.example'],
    san_email: [],
    common_name: ['*'],
  },
  from: 100,
  until: 200,
  commonNames: { subject: 'x', issuer: 'ours' },
}
const rule: CertificateRule = { owner: 'san_uri', strip: '', roles: ['agent'] }
const all = { accessOf: (): undefined => undefined, refused: () => {} }

test('the owner is the one name of the kind that is asked for', () => {
  const find = createFindHolder({ ...rule, strip: 'spiffe://acme.example/agent/' }, all)
  expect(find(CERTIFICATE, 150)).toEqual({
    name: 'ann',
    roles: ['agent'],
    scope: { kind: 'owners', owners: ['ann'] },
  })
})

test.each<[string, CertificateRule, number?]>([
  ['names no one owner: it has several of san_dns', { ...rule, owner: 'san_dns' }],
  ['names no owner: it has no san_email', { ...rule, owner: 'san_email' }],
  ['names every owner, which no certificate may', { ...rule, owner: 'common_name' }],
  [
    'names no owner: its san_uri begins otherwise than strip',
    { ...rule, strip: 'spiffe://other.example/' },
  ],
  [
    'names no owner: nothing follows strip in its san_uri',
    { ...rule, strip: 'spiffe://acme.example/agent/ann' },
  ],
  ['is too early', rule, 99],
  ['has expired', rule, 200],
])('one that %s is nobody’s, and it is told why', (reason, broken, now = 150) => {
  const told: unknown[] = []
  const refused = (...all: unknown[]) => void told.push(all)
  expect(createFindHolder(broken, { ...all, refused })(CERTIFICATE, now)).toBeUndefined()
  expect(told).toEqual([[reason, { subject: 'x', issuer: 'ours' }]])
})

test('a certificate counts within its time alone, however long the connection has been open', () => {
  const find = createFindHolder(rule, all)
  expect([99, 100, 199, 200].map((now) => find(CERTIFICATE, now) !== undefined)).toEqual([
    false,
    true,
    true,
    false,
  ])
})

test('alternative names are told apart as Node prints them', () => {
  expect(readAlternatives('')).toEqual([])
  expect(
    readAlternatives('DNS:a.example, URI:spiffe://x/y, email:a@b.example, IP Address:::1'),
  ).toEqual([
    ['DNS', 'a.example'],
    ['URI', 'spiffe://x/y'],
    ['email', 'a@b.example'],
    ['IP Address', '::1'],
  ])
})

test('one name that looks like two is one, and what cannot be told apart is none', () => {
  expect(readAlternatives('DNS:"a.example, URI:spiffe://x/root", URI:spiffe://x/ann')).toEqual([
    ['DNS', 'a.example, URI:spiffe://x/root'],
    ['URI', 'spiffe://x/ann'],
  ])
  expect(readAlternatives('DNS:"a, URI:spiffe://x/root')).toBeUndefined()
  expect(readAlternatives('DNS:a,URI:b')).toBeUndefined()
  expect(readAlternatives('nonsense')).toBeUndefined()
})
