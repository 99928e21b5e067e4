import { expect, test } from 'vitest'
import type { AuditEntry } from '../../../src/telemetry/audit-log.js'
import { createStrangers } from '../../../src/telemetry/audit-strangers.js'
import { HandClock } from '../../support/hand-clock.js'

function setUp() {
  const clock = new HandClock()
  const lines: AuditEntry[] = []
  const audit = { failing: false, write: (entry: AuditEntry) => void lines.push(entry) }
  const strangers = createStrangers({ audit, now: () => clock.now(), schedule: clock.schedule })
  const refuse = (status: number, remote?: string) => strangers.refused(status, undefined, remote)
  return { clock, lines, strangers, refuse }
}

test('only what a request may not is told, with where it came from', () => {
  const { lines, refuse } = setUp()
  for (const status of [400, 401, 403, 404, 405, 408, 413, 415, 431]) refuse(status, '10.0.0.7')
  expect(lines).toEqual([
    { status: 401, remote: '10.0.0.7', outcome: 'refused' },
    { status: 403, remote: '10.0.0.7', outcome: 'refused' },
  ])
})

test('the first of an address is told at once, others within ten seconds by their number', () => {
  const { clock, lines, refuse } = setUp()
  for (let n = 0; n < 1000; n++) {
    refuse(401, '10.0.0.7')
    clock.pass(1)
  }
  refuse(401, '10.0.0.8')
  expect(lines).toHaveLength(2)
  clock.pass(9000)
  expect(lines.slice(2)).toEqual([
    {
      status: 401,
      remote: '10.0.0.7',
      outcome: 'refused',
      times: 999,
      since: '1970-01-01T00:00:01.001Z',
    },
  ])
  refuse(401, '10.0.0.7')
  expect(lines.at(-1)).toEqual({ status: 401, remote: '10.0.0.7', outcome: 'refused' })
})

test('very many addresses are told together, none is left out, and at the end all are told', () => {
  const { lines, strangers, refuse } = setUp()
  for (let n = 0; n < 5000; n++) refuse(401, `10.0.${n >> 8}.${n & 255}`)
  refuse(401)
  expect(lines).toHaveLength(1001)
  strangers.flush()
  const told = lines.reduce((sum, { times }) => sum + (typeof times === 'number' ? times : 1), 0)
  expect(told).toBe(5001)
  expect(lines.at(-1)).toMatchObject({ remote: 'others', times: 4000 })
  strangers.flush()
  expect(lines).toHaveLength(1002)
})
