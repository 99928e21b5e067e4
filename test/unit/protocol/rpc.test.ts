import { describe, expect, test } from 'vitest'
import { checkParams, checkResult } from '../../../src/protocol/checks.js'
import { A2mError, CODES, Fault } from '../../../src/protocol/errors.js'
import { JsonText } from '../../../src/protocol/json.js'
import {
  decode,
  printError,
  printRequest,
  printResult,
  readReply,
  readRequest,
} from '../../../src/protocol/rpc.js'
import { meets } from '../../support/meets.js'

function request(text: string) {
  const reading = readRequest(text)
  if ('error' in reading) throw reading.error
  return reading.request
}

function refusal(text: string): { code: number; id: string | null | undefined } {
  const reading = readRequest(text)
  if (!('error' in reading)) throw new Error(`was read: ${text}`)
  return { code: reading.error.code, id: reading.id === null ? null : reading.id?.text }
}

function faultOf(action: () => unknown): Fault {
  try {
    action()
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

describe('a request', () => {
  test.each(['1', '1.0', '-0', '0', '9007199254740993', '1e400', '"a"', '"\\u0061"', '""', 'null'])(
    'its id is kept to the letter: %s',
    (id) => {
      const read = request(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)
      expect(read.id?.text).toBe(id)
      expect(printResult(new JsonText(id), 'memory/forget', { forgotten: 0 })).toBe(
        `{"jsonrpc":"2.0","id":${id},"result":{"forgotten":0}}`,
      )
    },
  )

  test('without an id it is a notification', () => {
    expect(request('{"jsonrpc":"2.0","method":"m","params":{"id":5}}')).toEqual({
      id: undefined,
      method: 'm',
      params: { id: 5 },
    })
  })

  test.each([
    ['[]', CODES.INVALID_REQUEST, null],
    ['[{}]', CODES.INVALID_REQUEST, null],
    ['[{"jsonrpc":"2.0","id":1,"method":"memory/describe"}]', CODES.INVALID_REQUEST, null],
    ['[1,2]', CODES.INVALID_REQUEST, null],
    ['5', CODES.INVALID_REQUEST, null],
    ['"x"', CODES.INVALID_REQUEST, null],
    ['null', CODES.INVALID_REQUEST, null],
    ['{}', CODES.INVALID_REQUEST, null],
    ['{"id":1}', CODES.INVALID_REQUEST, '1'],
    ['{"id":1,"method":"m"}', CODES.INVALID_REQUEST, '1'],
    ['{"jsonrpc":"1.0","id":1,"method":"m"}', CODES.INVALID_REQUEST, '1'],
    ['{"jsonrpc":2.0,"id":1,"method":"m"}', CODES.INVALID_REQUEST, '1'],
    ['{"jsonrpc":"2.0","id":1}', CODES.INVALID_REQUEST, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":5}', CODES.INVALID_REQUEST, '1'],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', CODES.INVALID_REQUEST, null],
    ['{"jsonrpc":"2.0","id":[1],"method":"m"}', CODES.INVALID_REQUEST, null],
    ['{"jsonrpc":"2.0","id":true,"method":"m"}', CODES.INVALID_REQUEST, null],
    ['', CODES.PARSE_ERROR, null],
    ['{', CODES.PARSE_ERROR, null],
    ['{"a":1}{"b":2}', CODES.PARSE_ERROR, null],
    ["{'a':1}", CODES.PARSE_ERROR, null],
    ['{"a":NaN}', CODES.PARSE_ERROR, null],
    ['{"jsonrpc":"2.0","id":1.0,"method":"m","method":"n"}', CODES.INVALID_PARAMS, '1.0'],
    ['{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":2}}', CODES.INVALID_PARAMS, undefined],
    ['{"jsonrpc":"2.0","id":[],"params":{"a":1,"a":2}}', CODES.INVALID_PARAMS, null],
    ['{"jsonrpc":"2.0","id":"x","params":"\\ud800"}', CODES.INVALID_PARAMS, '"x"'],
    ['[{"a":1,"a":2}]', CODES.INVALID_REQUEST, null],
    ['"\\ud800"', CODES.INVALID_REQUEST, null],
  ])('%s is refused', (text, code, id) => {
    expect(refusal(text)).toEqual({ code, id })
  })

  test('bytes that are not UTF-8 are no JSON', () => {
    expect(() => decode(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(/not UTF-8/)
    expect(() => decode(Uint8Array.of(0xed, 0xa0, 0x80))).toThrow(/not UTF-8/)
    const inside = Buffer.from('xx"東京"xx')
    expect(decode(inside.subarray(2, -2))).toBe('"東京"')
  })

  test('errors are printed under their id, or null', () => {
    expect(JSON.parse(printError(null, new A2mError('PARSE_ERROR', 'x')))).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'x' },
    })
    const told = printError(new JsonText('1.0'), new A2mError('READ_ONLY', 'x', { a: 1 }))
    expect(told).toBe(
      '{"jsonrpc":"2.0","id":1.0,"error":{"code":-32004,"message":"x","data":{"a":1}}}',
    )
  })

  test('a message is one line', () => {
    const metadata = new JsonText('{"a":"\\n"}')
    const text = printRequest(1, 'memory/remember', { records: [{ content: 'a\nb\r', metadata }] })
    expect(text).not.toMatch(/[\r\n]/)
  })
})

describe('params', () => {
  test.each([[[]], ['x'], [5], [true]])('other than an object are refused: %j', (params) => {
    expect(() => checkParams('memory/recall', params)).toThrow(/passed by name/)
  })

  test.each([undefined, {}, null])('may be absent: %j', (params) => {
    if (params === null) expect(() => checkParams('memory/recall', params)).toThrow()
    else expect(checkParams('memory/recall', params)).toEqual({})
  })

  test('null says absent, in entries too, but not in where', () => {
    const where = { role: null, list: [null] }
    expect(checkParams('memory/recall', { query: null, tier: null, where })).toEqual({ where })
    const entry = { id: null, content: 'c', metadata: new JsonText('null'), group: null }
    expect(checkParams('memory/remember', { records: [entry], owner: null })).toEqual({
      records: [{ content: 'c' }],
    })
  })

  test('unknown ones are dropped', () => {
    expect(checkParams('memory/recall', { query: 'q', colour: 'red' })).toEqual({ query: 'q' })
    const entry = { content: 'c', created_at: 5, colour: {} }
    expect(checkParams('memory/remember', { records: [entry] })).toEqual({
      records: [{ content: 'c' }],
    })
  })

  test.each([
    ['memory/remember', {}, /^records: /],
    ['memory/remember', { records: [] }, /^records: /],
    ['memory/remember', { records: {} }, /^records: /],
    ['memory/remember', { records: [{}] }, /^records\[0\]\.content: /],
    ['memory/remember', { records: [{ content: 5 }] }, /^records\[0\]\.content: /],
    ['memory/remember', { records: [{ content: 'a' }, null] }, /^records\[1\]: /],
    ['memory/remember', { records: [{ content: 'a', id: '' }] }, /^records\[0\]\.id: /],
    ['memory/remember', { records: [{ content: 'a', id: 5 }] }, /^records\[0\]\.id: /],
    ['memory/remember', { records: [{ content: 'a', role: {} }] }, /^records\[0\]\.role: /],
    [
      'memory/remember',
      { records: [{ content: 'a', metadata: {} }] },
      /metadata: must be an object/,
    ],
    [
      'memory/remember',
      { records: [{ content: 'a', metadata: new JsonText('[1]') }] },
      /metadata: must be an object/,
    ],
    ['memory/remember', { records: [{ content: 'a', embedding: [] }] }, /embedding: /],
    ['memory/remember', { records: [{ content: 'a', embedding: [1, 'x'] }] }, /embedding: /],
    ['memory/recall', { query: 5 }, /^query: /],
    ['memory/recall', { limit: -1 }, /^limit: /],
    ['memory/recall', { limit: 1.5 }, /^limit: /],
    ['memory/recall', { limit: '5' }, /^limit: /],
    ['memory/recall', { where: [] }, /^where: must be an object/],
    ['memory/recall', { where: 'x' }, /^where: must be an object/],
    ['memory/timeline', { tier: '' }, /^tier: /],
    ['memory/forget', { ids: 'a' }, /^ids: /],
    ['memory/forget', { ids: [null] }, /^ids\[0\]: /],
    ['memory/promote', { ids: ['a'] }, /^tier: /],
    ['memory/promote', { tier: 'a' }, /^ids: /],
    ['memory/fetch', { key: '' }, /^key: /],
    ['memory/session/close', {}, /^session: /],
  ] as const)('%s %j is refused with the path', (method, params, message) => {
    expect(() => checkParams(method, params)).toThrow(message)
    expect(() => checkParams(method, params)).toThrow(A2mError)
  })
})

describe('a reply', () => {
  test('is a result, an error or a notification', () => {
    expect(readReply('{"jsonrpc":"2.0","id":7,"result":{"a":1}}')).toEqual({
      id: 7,
      result: { a: 1 },
    })
    expect(
      readReply('{"jsonrpc":"2.0","id":7,"error":{"code":-32004,"message":"no","data":{"a":1}}}'),
    ).toMatchObject({ id: 7, error: { code: -32004, message: 'no', data: { a: 1 } } })
    expect(
      readReply('{"jsonrpc":"2.0","method":"memory/event","params":{"kind":"written"}}'),
    ).toEqual({ notification: 'memory/event', params: { kind: 'written' } })
  })

  test('an error may stand beside a null result, or have no id', () => {
    expect(
      readReply('{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-32700}}'),
    ).toMatchObject({ id: null, error: { code: -32700, message: '' } })
    expect(readReply('{"jsonrpc":"2.0","id":3,"error":null,"result":{}}')).toEqual({
      id: 3,
      result: {},
    })
  })

  test.each([
    '',
    'null',
    '[]',
    '<html>',
    '{"id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":"1","result":{}}',
    '{"jsonrpc":"2.0","result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":"-32004"}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1.5}}',
    '{"jsonrpc":"2.0","id":1,"method":"memory/recall"}',
  ])('anything else is a fault: %s', (text) => {
    const fault = faultOf(() => readReply(text))
    expect([fault.kind, fault.outcome]).toEqual(['bad_reply', 'unknown'])
  })
})

describe('a result', () => {
  const record = { id: 'a', content: 'c', created_at: '2026-07-28T10:15:30.123Z' }

  test('null fields are absent ones', () => {
    const told = { ...record, owner: null, tier: null, role: null, metadata: new JsonText('null') }
    expect(checkResult('memory/timeline', { records: [told], prompt: null })).toEqual({
      records: [record],
    })
    expect(checkResult('memory/fetch', { record: told })).toEqual({ record })
  })

  test('a record that is null is an answer', () => {
    expect(checkResult('memory/fetch', { record: null })).toEqual({ record: null })
    expect(() => checkResult('memory/fetch', {})).toThrow(/not a result of memory\/fetch: record/)
  })

  test('describe may fill what it does not have with null', () => {
    const description = {
      protocol: 'a2m/0.1',
      name: 'x',
      capabilities: ['core'],
      methods: [],
      limits: { max_records_per_call: null },
      embeddings: null,
      tiers: [{ name: 'a', count: 0, kind: null, capacity: null, spill_to: null, shared: null }],
    }
    expect(checkResult('memory/describe', description)).toMatchObject({
      limits: {},
      tiers: [{ name: 'a', count: 0 }],
    })
    const embeddings = { dimensions: null, metric: 'cosine' }
    expect(checkResult('memory/describe', { ...description, embeddings })).toMatchObject({
      embeddings,
    })
  })

  test(`unknown fields of records are tolerated ${meets('2/unknown-fields')}`, () => {
    expect(checkResult('memory/timeline', { records: [{ ...record, colour: 'red' }] })).toEqual({
      records: [record],
    })
  })

  test.each([
    ['memory/remember', { ids: [5] }],
    ['memory/remember', null],
    ['memory/recall', { records: {} }],
    ['memory/recall', { records: [null] }],
    ['memory/recall', { records: [{ ...record, created_at: 1785233730123 }] }],
    ['memory/recall', { records: [{ ...record, created_at: 'yesterday' }] }],
    ['memory/recall', { records: [{ ...record, id: '' }] }],
    ['memory/recall', { records: [{ ...record, metadata: {} }] }],
    ['memory/forget', { forgotten: -1 }],
    ['memory/forget', 5],
  ] as const)('%s %j is a fault', (method, result) => {
    expect(faultOf(() => checkResult(method, result)).kind).toBe('bad_reply')
  })
})

test.each([
  ['1234567890123456781', false],
  ['[1, 9007199254740993]', false],
  ['1e400', false],
  ['{"deep":[-9007199254740993]}', false],
  ['9007199254740991', true],
  ['[-1.5, 0, "9007199254740993", null]', true],
])('a number in where is compared exactly or refused: %s', (value, accepted) => {
  const params = () => checkParams('memory/forget', JSON.parse(`{"where":{"n":${value}}}`))
  if (accepted) expect(params()).toEqual({ where: { n: JSON.parse(value) } })
  else expect(params).toThrow('cannot be compared exactly')
})
