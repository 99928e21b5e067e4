import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonText } from '../../../src/protocol/json.js'
import { isPlainList } from '../../../src/protocol/plain.js'
import { SCHEMAS } from '../../../src/protocol/schemas.js'

const schema = SCHEMAS['memory/timeline'].result
const AT = '2026-07-28T10:15:30.123Z'
const LEAST = { id: 'a', content: '', created_at: AT }
const FULL = {
  ...LEAST,
  role: 'user',
  metadata: new JsonText('{"a":1.0}'),
  group: '',
  tier: 'semantic',
  salience: 0.5,
  accessed_at: '2026-07-28T12:15:30+02:00',
  access_count: 3,
  owner: 'o',
  session: 's',
  key: 'k',
  revision: 0,
  uri: 'file:///a',
  media_type: 'text/plain',
  score: 0.9,
}

/** Values that some field takes and others do not. */
const values = fc.constantFrom<unknown>(
  ...['', 'text', AT, '2026-02-30T00:00:00.000Z', null, undefined, true, {}, [], [1], ['1']],
  ...[0, -1, 1.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY],
  ...[new JsonText('{}'), new JsonText('[]'), [Number.NaN]],
)
const fields = fc.constantFrom(...Object.keys(FULL))
const names = fc.oneof(fields, fc.constantFrom('embedding', 'explain', 'unknown', '__proto__'))

describe('a list that is told to be plain', () => {
  test('is one with every field but a vector', () => {
    expect(isPlainList({ records: [FULL, LEAST] })).toBe(true)
    expect(isPlainList({ records: [] })).toBe(true)
  })

  test('is what the schema would have made of it', () => {
    let plain = 0
    fc.assert(
      fc.property(names, values, fc.constantFrom(LEAST, FULL), (name, value, record) => {
        const result = {
          records: [LEAST, Object.fromEntries([...Object.entries(record), [name, value]])],
        }
        if (!isPlainList(result)) return
        plain++
        expect(schema.parse(result)).toEqual(result)
      }),
      { numRuns: 3000 },
    )
    expect(plain).toBeGreaterThan(100)
  })

  test('is every list that the schema leaves as it is, values that JSON has', () => {
    fc.assert(
      fc.property(fields, values, (name, value) => {
        const result = { records: [{ ...LEAST, [name]: value }] }
        const parsed = schema.safeParse(result)
        if (!parsed.success || value === undefined) return
        expect(isPlainList(result)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ['nothing', undefined],
    ['no object', 'records'],
    ['no records', {}],
    ['no array', { records: {} }],
    [
      'something beside the records',
      { records: [], federation: { partial: false, upstreams: {} } },
    ],
    ['no record', { records: [null] }],
    ['an array for a record', { records: [[]] }],
    ['no id', { records: [{ content: '', created_at: AT }] }],
    ['no content', { records: [{ id: 'a', created_at: AT }] }],
    ['no time', { records: [{ id: 'a', content: '' }] }],
    ['a field that nobody knows', { records: [{ ...LEAST, colour: 'red' }] }],
    ['a null', { records: [{ ...LEAST, owner: null }] }],
  ])('is not: %s', (_, result) => {
    expect(isPlainList(result)).toBe(false)
  })
})
