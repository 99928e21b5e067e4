import { expect, test } from 'vitest'
import {
  type Certificate,
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
}
const rule = { owner: 'san_uri', strip: '', roles: ['agent'] } as const
const all = (): undefined => undefined

test('the owner is the one name of the kind that is asked for', () => {
  const find = createFindHolder({ ...rule, strip: 'spiffe://acme.example/agent/' }, all)
  expect(find(CERTIFICATE, 150)).toEqual({
    name: 'ann',
    roles: ['agent'],
    scope: { kind: 'owners', owners: ['ann'] },
  })
})

test.each([
  ['several names', { ...rule, owner: 'san_dns' }],
  ['no name', { ...rule, owner: 'san_email' }],
  ['every owner', { ...rule, owner: 'common_name' }],
  ['another beginning', { ...rule, strip: 'spiffe://other.example/' }],
  ['nothing after the beginning', { ...rule, strip: 'spiffe://acme.example/agent/ann' }],
] as const)('%s: nobody', (_, broken) => {
  expect(createFindHolder(broken, all)(CERTIFICATE, 150)).toBeUndefined()
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
