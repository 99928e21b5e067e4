import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkResult } from '../../../src/protocol/checks.js'
import { JsonText } from '../../../src/protocol/json.js'
import { parse } from '../../../src/protocol/json-parse.js'
import { RecordList, readRecords } from '../../../src/protocol/record-reader.js'
import { jsonSource, objectSource } from '../../support/json-sources.js'

const RECORD = '{"id":"a","content":"c","created_at":"2026-07-28T10:15:30.123Z"}'

function reply(...records: readonly string[]): string {
  return `{"jsonrpc":"2.0","id":7,"result":{"records":[${records.join(',')}]}}`
}

function withField(field: string): string {
  return reply(RECORD.replace('}', `,${field}}`))
}

/** What is made of a reply by those who take any. */
function slowly(text: string): { readonly id: unknown; readonly records: unknown } {
  const { id, result } = parse(text, 'lenient') as { id: unknown; result: unknown }
  return { id, records: checkResult('memory/recall', result).records }
}

function quickly(text: string) {
  const read = readRecords(text)
  return read && { id: read.id, records: read.result.records }
}

const QUICK = [
  reply(),
  reply(RECORD),
  reply(RECORD, RECORD.replace('"a"', '"b"')),
  withField(
    '"metadata":{"n":9007199254740993,"m":1.0,"z":-0,"big":1e400,"__proto__":{},"2":1,"1":2}',
  ),
  withField('"metadata":{}'),
  withField('"metadata":{ "a" : [ 1, "}", [ ] ], "b":{"c":null,"d":[true,false]} }'),
  withField('"role":"user","group":"g","tier":"t","owner":"o","session":"s","key":"k"'),
  withField('"salience":1.5,"access_count":3,"revision":0,"score":-0'),
  withField(
    '"accessed_at":"2026-07-28T10:15:30+02:00","uri":"file:///a","media_type":"text/plain"',
  ),
  withField('"session":null,"key":null,"metadata":null'),
  withField('"role":"caf\u00e9 \u{1f600} \u2028"'),
  reply(RECORD.replace('"c"', '"line\\nbreak \\"quoted\\" \\u00e9 \\\\"')),
  reply(RECORD.replace('"c"', '""')),
  `{"jsonrpc": "2.0", "id": 7, "result": {"records": [${RECORD.replaceAll(',', ', ').replaceAll('":"', '": "')}]}}\n`,
  `{"jsonrpc":"2.0","result":{"records":[${RECORD}]},"id":7}`,
]

describe('a list of records is read in one pass', () => {
  test.each(QUICK)('%s', (text) => {
    const read = readRecords(text)
    expect(read?.result).toBeInstanceOf(RecordList)
    expect(quickly(text)).toEqual(slowly(text))
  })

  test('metadata is its own source', () => {
    const source = '{"n":9007199254740993,"m":1.0}'
    const [record] = readRecords(withField(`"metadata":${source}`))?.result.records ?? []
    expect(record?.metadata).toEqual(new JsonText(source))
  })

  test('names in another order in the next record are seen', () => {
    const other = '{"created_at":"2026-07-28T10:15:30.123Z","role":"r","content":"d","id":"b"}'
    const text = reply(RECORD, other, RECORD)
    expect(quickly(text)).toEqual(slowly(text))
  })
})

describe('a numeral', () => {
  const integer = fc.oneof(fc.nat(), fc.maxSafeNat()).map(String)
  const decimals = fc.stringMatching(/^\d{1,20}$/)
  const numeral = fc.oneof(
    integer,
    fc.tuple(integer, decimals).map((halves) => halves.join('.')),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  )

  test('is the double that is nearest to it, however short it is', () => {
    fc.assert(
      fc.property(numeral, (source) => {
        const [record] = readRecords(withField(`"score":${source}`))?.result.records ?? []
        expect(record?.score).toBe(Number(source))
      }),
      { numRuns: 2000 },
    )
  })

  test.each(['01', '1.', '.5', '1.5.2', '-', '+1', '0x1', '1_0'])('is not %s', (source) => {
    expect(readRecords(withField(`"score":${source}`))).toBeUndefined()
  })
})

describe('metadata of megabytes', () => {
  const many = (member: string) => Array(4_000_000).fill(member).join(',')
  const sources = {
    numbers: `{"v":[${many('1')}]}`,
    decimals: `{"v":[${many('1.5')}]}`,
    texts: `{"v":[${many('""')}]}`,
    names: `{${many('"":1')}}`,
  }

  test.each(Object.entries(sources))('of %s is its own source', (_, source) => {
    const [record] = readReply(withField(`"metadata":${source}`)).result.records
    expect(record?.metadata?.text === source).toBe(true)
  })

  function readReply(text: string) {
    const read = readRecords(text)
    if (read === undefined) throw new Error('it was left to others')
    return read
  }
})

const LEFT_TO_OTHERS = [
  '',
  'null',
  '[]',
  '<html>',
  '{"id":7,"result":{"records":[]}}',
  '{"jsonrpc":"1.0","id":7,"result":{"records":[]}}',
  '{"jsonrpc":"2.0","id":"7","result":{"records":[]}}',
  '{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}',
  '{"jsonrpc":"2.0","id":7,"result":{"ids":["a"]}}',
  '{"jsonrpc":"2.0","id":7,"result":{"records":[],"federation":{}}}',
  '{"jsonrpc":"2.0","method":"memory/event","params":{"kind":"written"}}',
  reply(RECORD).slice(0, -1),
  `${reply(RECORD)}x`,
  reply(`${RECORD},`),
  reply('{}'),
  reply('{"id":"a"}'),
  reply('{"id":"","content":"c","created_at":"2026-07-28T10:15:30.123Z"}'),
  reply('{"id":null,"content":"c","created_at":"2026-07-28T10:15:30.123Z"}'),
  reply('{"id":"a","content":"c","created_at":"yesterday"}'),
  withField('"embedding":[1]'),
  withField('"colour":"red"'),
  withField('"role":1'),
  withField('"role":"a","role":null'),
  withField('"role":"a'),
  withField('"role":"\\q"'),
  withField('"score":01'),
  withField('"score":1e999'),
  withField('"score":nul'),
  withField('"revision":1.5'),
  withField('"metadata":[1]'),
  withField('"metadata":{"a":1,}'),
  withField('"metadata":{"a":tru}'),
  withField('"metadata":{"a":.5}'),
  withField('"metadata":{"a":"\u0001"}'),
  withField('"metadata":{"a":"\\u0041"}'),
  withField('"metadata":{a:1}'),
  withField(`"metadata":${'{"a":'.repeat(40)}1${'}'.repeat(40)}`),
  withField('"metadata":{"a":1'),
]

test.each(LEFT_TO_OTHERS)('what is unusual is left to others: %s', (text) => {
  expect(readRecords(text)).toBeUndefined()
})

const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value))
const anyField = fc.oneof(
  fc.tuple(fc.constantFrom('role', 'group', 'tier', 'owner', 'session', 'key', 'uri'), text),
  fc.tuple(
    fc.constantFrom('score', 'salience'),
    fc.double().map((value) => JSON.stringify(value)),
  ),
  fc.tuple(fc.constantFrom('revision', 'access_count'), fc.nat().map(String)),
  fc.tuple(fc.constant('metadata'), objectSource),
  fc.tuple(fc.constantFrom('embedding', 'metadata', 'colour', 'role', 'score'), jsonSource),
)
const anyRecord = fc
  .tuple(text, text, fc.array(anyField, { maxLength: 5 }))
  .map(([id, content, fields]) => {
    const rest = fields.map(([name, value]) => `,"${name}":${value}`).join('')
    return `{"id":${id},"content":${content},"created_at":"2026-07-28T10:15:30.123Z"${rest}}`
  })

test('whatever it reads, others read alike', () => {
  let read = 0
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 4 }), (records) => {
      const quick = quickly(reply(...records))
      if (quick === undefined) return
      read++
      expect(quick).toEqual(slowly(reply(...records)))
    }),
    { numRuns: 1000 },
  )
  expect(read).toBeGreaterThan(100)
})

test('a reply that was cut anywhere is not read', () => {
  const whole = reply(RECORD, RECORD.replace('"c"', '"a \\"quote\\""'))
  for (let length = 0; length < whole.length; length++) {
    expect(readRecords(whole.slice(0, length))).toBeUndefined()
  }
})
