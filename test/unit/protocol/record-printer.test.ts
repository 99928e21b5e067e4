import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonText, print } from '../../../src/protocol/json.js'
import type { RecalledRecord } from '../../../src/protocol/methods.js'
import { printable, printRecord } from '../../../src/protocol/record-printer.js'
import { recalledSchema } from '../../../src/protocol/schemas.js'

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary', minLength: 40, maxLength: 120 }))
const number = fc.double({ noNaN: true, noDefaultInfinity: true })

const record: fc.Arbitrary<RecalledRecord> = fc.record(
  {
    id: text,
    content: text,
    created_at: text,
    role: text,
    metadata: fc.constantFrom(new JsonText('{}'), new JsonText('{"n":1.0}')),
    group: text,
    tier: text,
    salience: number,
    accessed_at: text,
    access_count: fc.nat(),
    owner: text,
    session: text,
    key: text,
    revision: fc.nat(),
    embedding: fc.array(number),
    uri: text,
    media_type: text,
    score: number,
    explain: fc.constant([{ list: 'a"b', rank: 1, weight: 1, share: 0.5 }]),
  },
  { requiredKeys: ['id', 'content', 'created_at'] },
)

describe('a record that is printed by its fields', () => {
  test('says what it says when it is printed as any object', () => {
    fc.assert(
      fc.property(record, (one) => {
        expect(JSON.parse(printRecord(one))).toEqual(JSON.parse(print(one)))
      }),
    )
  })

  test('has every field that the schema has', () => {
    const names = Object.keys(recalledSchema.shape)
    const every = Object.fromEntries(names.map((name) => [name, name]))
    expect(JSON.parse(printRecord(every as unknown as RecalledRecord))).toEqual(every)
  })

  test('keeps metadata and the sign of zero to the letter', () => {
    const metadata = new JsonText('{"n":1.0}')
    const printed = printRecord({ id: 'a', content: '', created_at: '', metadata, score: -0 })
    expect(printed).toBe('{"id":"a","content":"","created_at":"","metadata":{"n":1.0},"score":-0}')
  })
})

describe('a result', () => {
  const one = { id: 'a', content: 'c', created_at: 'now', score: 1 }

  test.each([[[]], [[one]], [[one, { ...one, id: 'b' }]]])('of records %j', (records) => {
    const federation = { partial: false, upstreams: {} }
    const result = { records, federation }
    expect(JSON.parse(print(printable('memory/recall', result)))).toEqual(result)
    expect(JSON.parse(print(printable('memory/timeline', result)))).toEqual(result)
  })

  test('of anything else is left as it is', () => {
    const result = { forgotten: 3 }
    expect(printable('memory/forget', result)).toBe(result)
  })
})
