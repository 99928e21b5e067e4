import { describe, expect, test } from 'vitest'
import {
  A2mError,
  CODES,
  FAULTS,
  Fault,
  invalidParams,
  toA2mError,
} from '../../../src/protocol/errors.js'

test('the catalogue is that of the specification', () => {
  expect(CODES).toEqual({
    PARSE_ERROR: -32700,
    INVALID_REQUEST: -32600,
    METHOD_NOT_FOUND: -32601,
    INVALID_PARAMS: -32602,
    INTERNAL_ERROR: -32603,
    UNKNOWN_RECORD: -32001,
    UNKNOWN_TIER: -32002,
    CAPABILITY_NOT_SUPPORTED: -32003,
    READ_ONLY: -32004,
    SCOPE_DENIED: -32005,
    QUOTA_EXCEEDED: -32006,
    PROTOCOL_NOT_SUPPORTED: -32007,
    EMBEDDING_MISMATCH: -32008,
  })
})

test('an error is named or numbered', () => {
  expect(new A2mError('READ_ONLY', 'no', { a: 1 })).toMatchObject({
    code: -32004,
    message: 'no',
    data: { a: 1 },
    name: 'A2mError',
  })
  expect(new A2mError(-32099, 'x').code).toBe(-32099)
  expect(invalidParams('limit: at most 5').code).toBe(-32602)
})

describe('what a caller is told', () => {
  test.each(Object.entries(FAULTS))('of a fault of kind %s: its outcome is %s', (kind, outcome) => {
    const fault = new Fault(kind as keyof typeof FAULTS, 'broken')
    expect(fault.outcome).toBe(outcome)
    expect(toA2mError(fault)).toMatchObject({
      code: -32603,
      message: 'no usable answer: broken',
      data: { fault: kind, outcome },
    })
  })

  test('an outcome that is known better goes before that of the kind', () => {
    expect(toA2mError(new Fault('timeout', 'x', 'not_sent')).data).toEqual({
      fault: 'timeout',
      outcome: 'not_sent',
    })
  })

  test('an error of the protocol stays the same', () => {
    const error = new A2mError('SCOPE_DENIED', 'no')
    expect(toA2mError(error)).toBe(error)
  })

  test.each([
    new Error('password=secret'),
    new TypeError('x'),
    'secret',
    undefined,
    null,
    { code: 5 },
  ])('of anything else nothing: %s', (thrown) => {
    const told = toA2mError(thrown)
    expect(told).toMatchObject({ code: -32603, message: 'internal error', data: undefined })
  })
})
