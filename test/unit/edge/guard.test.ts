import { expect, test } from 'vitest'
import { createGuard, headerValues, isLoopback } from '../../../src/edge/guard.js'
import { FORBIDDEN } from '../../../src/edge/replies.js'

function requestWith(headers: Record<string, string>) {
  return { headers, rawHeaders: Object.entries(headers).flat() }
}

test('on a network address any Host is let in, and an Origin only when it is allowed', () => {
  const admits = createGuard({ allowedOrigins: ['https://a.example'] }, 'network')
  expect(admits(requestWith({ host: 'memory.example' }))).toBe(true)
  expect(admits(requestWith({}))).toBe(true)
  expect(admits(requestWith({ host: 'x', origin: 'https://a.example' }))).toBe(true)
  expect(admits(requestWith({ host: 'x', origin: 'https://b.example' }))).toBe(false)
})

test('on loopback the host of an allowed origin is let in, port and all', () => {
  const admits = createGuard({ allowedOrigins: ['http://App.example:8080'] }, 'loopback')
  expect(admits(requestWith({ host: 'app.example:8080' }))).toBe(true)
  expect(admits(requestWith({ host: 'app.example' }))).toBe(false)
})

test('on loopback the default port of an allowed origin may be written out, and no other', () => {
  const admits = createGuard(
    { allowedOrigins: ['https://memory.example', 'http://plain.example'] },
    'loopback',
  )
  const admitted = (host: string) => admits(requestWith({ host }))
  expect(['memory.example', 'memory.example:443', 'Memory.Example:443'].map(admitted)).toEqual([
    true,
    true,
    true,
  ])
  expect(admitted('plain.example:80')).toBe(true)
  expect(
    ['memory.example:80', 'memory.example:8443', 'plain.example:443', 'x.memory.example'].map(
      admitted,
    ),
  ).toEqual([false, false, false, false])
})

test('a refusal says what to do', () => {
  expect(FORBIDDEN.body).toContain('add the public origin (such as https://memory.example)')
  expect(FORBIDDEN.body).toContain('to allowed_origins')
})

test('with no allowed origin an empty Host stays out', () => {
  expect(createGuard({ allowedOrigins: [] }, 'loopback')(requestWith({ host: '' }))).toBe(false)
  const odd = createGuard({ allowedOrigins: ['', 'null', '*'] }, 'loopback')
  expect(odd(requestWith({ host: '' }))).toBe(false)
  expect(odd(requestWith({ host: 'localhost', origin: 'null' }))).toBe(false)
  expect(odd(requestWith({ host: 'localhost', origin: '' }))).toBe(false)
})

test.each([
  ['127.0.0.1', true],
  ['127.255.0.9', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['1127.0.0.1', false],
])('%s is loopback: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
})

test('every value of a header is found, in whatever case its name is', () => {
  const raw = ['Host', 'a', 'X-Host', 'b', 'HOST', 'c', 'tsoh', 'd']
  expect(headerValues(raw, 'host')).toEqual(['a', 'c'])
  expect(headerValues(raw, 'origin')).toEqual([])
})
