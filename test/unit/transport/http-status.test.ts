import { expect, test } from 'vitest'
import { statusFault, vouchedFault } from '../../../src/transport/http-status.js'

const TABLE = [
  [202, 'bad_reply', 'unknown'],
  [204, 'bad_reply', 'unknown'],
  [301, 'bad_reply', 'unknown'],
  [302, 'bad_reply', 'unknown'],
  [307, 'bad_reply', 'unknown'],
  [308, 'bad_reply', 'unknown'],
  [400, 'bad_reply', 'unknown'],
  [401, 'unavailable', 'not_sent'],
  [403, 'unavailable', 'not_sent'],
  [404, 'bad_reply', 'not_sent'],
  [405, 'bad_reply', 'not_sent'],
  [413, 'bad_reply', 'not_sent'],
  [415, 'bad_reply', 'not_sent'],
  [418, 'bad_reply', 'unknown'],
  [429, 'busy', 'not_sent'],
  [500, 'bad_reply', 'unknown'],
  [502, 'unavailable', 'unknown'],
  [503, 'unavailable', 'unknown'],
  [504, 'unavailable', 'unknown'],
] as const

test.each(TABLE)('status %i is %s, outcome %s', (status, kind, outcome) => {
  const fault = statusFault(status)
  expect({ kind: fault.kind, outcome: fault.outcome }).toEqual({ kind, outcome })
  expect(fault.message).toContain(`status ${status}`)
})

test('a refused credential says whose it is and where to look', () => {
  expect(statusFault(401).message).toContain("gateway's credential")
  expect(statusFault(403).message).toContain('`auth`')
})

test.each([401, 403])(
  'status %i to a signed token says whose token it was, and what has to trust it',
  (status) => {
    const fault = vouchedFault(status)
    expect(fault).toMatchObject({ kind: 'unavailable', outcome: 'not_sent' })
    expect(fault.message).toContain('trust this gateway as an issuer')
  },
)

test.each(TABLE.filter(([status]) => status !== 401 && status !== 403))(
  'status %i to a signed token says what it says to any',
  (status) => {
    expect(vouchedFault(status)).toEqual(statusFault(status))
  },
)
