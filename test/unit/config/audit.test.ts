import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/load.js'

function auditOf(section: string) {
  const text = `data_dir: /var/a2m\n${section}`
  return loadConfig({ text, file: 'gateway.yaml', env: {}, cwd: '/' }).audit
}

test('there is none unless it is asked for; asked for, it has defaults', () => {
  expect(auditOf('')).toBeUndefined()
  expect(auditOf('audit: {}')).toEqual({
    path: '/var/a2m/audit.jsonl',
    maxSize: 64 * 1024 * 1024,
    maxAge: undefined,
    keep: 10,
    onFailure: 'continue',
  })
})

test('paths are relative to data_dir', () => {
  expect(auditOf('audit: { path: log/a.jsonl }')?.path).toBe('/var/a2m/log/a.jsonl')
  expect(
    auditOf('audit: { path: /log/a.jsonl, max_age: 7d, keep: 30, on_failure: refuse }'),
  ).toEqual({
    path: '/log/a.jsonl',
    maxSize: 64 * 1024 * 1024,
    maxAge: 7 * 86_400_000,
    keep: 30,
    onFailure: 'refuse',
  })
})

test.each([
  ['audit: { pth: a }', 'audit.pth: unknown key; did you mean path?'],
  ['audit: { keep: 0 }', 'audit.keep: must be a whole number from 1 to 10000'],
  ['audit: { max_size: 10 }', 'audit.max_size: must be a size'],
  ['audit: { max_age: never }', 'audit.max_age: must be a duration'],
  ['audit: { on_failure: stop }', 'audit.on_failure: must be continue or refuse'],
  ['audit: { path: gateway.db }', /audit\.path: .*file/],
  [
    'audit: { path: ./x/../one.db }\nupstreams: { one: { store: sqlite, path: one.db } }',
    /audit\.path: is already the file of/,
  ],
])('%s is refused', (section, problem) => {
  expect(() => auditOf(section)).toThrow(problem)
})
