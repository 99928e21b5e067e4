import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createEvents, printEvent, readEvent } from '../../../src/metering/event.js'
import { createEventIds } from '../../../src/metering/event-ids.js'
import type { CallReport } from '../../../src/protocol/call-report.js'
import { A2mError } from '../../../src/protocol/errors.js'
import { isMinted } from '../../../src/protocol/ids.js'
import { HandClock } from '../../support/hand-clock.js'
import { usageEvent } from '../../support/usage-events.js'

const REPORT: CallReport = {
  method: 'memory/recall',
  version: 'a2m/0.1',
  error: undefined,
  ms: 1.23456,
  bytesIn: 10,
  bytesOut: 20,
  asks: [
    { upstream: 'one', method: 'memory/recall', attempts: 2, state: 'ok', ms: 0.00049, count: 3 },
  ],
  caller: { name: 'agent-a', roles: ['r'], scope: { kind: 'owners', owners: ['alice'] } },
  trace: 't',
  at: 5000,
  usage: {
    owner: 'alice',
    tiers: ['working'],
    recordsIn: 0,
    recordsOut: 3,
    charactersIn: 4,
    charactersOut: 5,
    vectorsIn: 0,
    vectorsOut: 1,
  },
  ending: 'answered',
}

const eventOf = createEvents({ newId: () => 'id', charactersPerToken: 4 })

describe('the event of a call', () => {
  test('holds what the report and its usage say, and nothing else', () => {
    expect(eventOf(REPORT)).toEqual({
      id: 'id',
      at: 5000,
      caller: 'agent-a',
      owner: 'alice',
      method: 'memory/recall',
      version: 'a2m/0.1',
      outcome: 'ok',
      tiers: ['working'],
      asks: [{ upstream: 'one', attempts: 2, state: 'ok', records: 3, ms: 0 }],
      recordsIn: 0,
      recordsOut: 3,
      charactersIn: 4,
      charactersOut: 5,
      vectorsIn: 0,
      vectorsOut: 1,
      tokens: 3,
      bytesIn: 10,
      bytesOut: 20,
      ms: 1.235,
    })
  })

  test('of what named no method, and whose usage nobody told, is the caller’s one owner’s', () => {
    const error = new A2mError('METHOD_NOT_FOUND', 'none')
    const event = eventOf({ ...REPORT, method: undefined, usage: undefined, error })
    expect(event).toMatchObject({
      method: 'none',
      owner: 'alice',
      outcome: 'METHOD_NOT_FOUND',
      tokens: 0,
      recordsOut: 0,
    })
  })

  test.each([
    ['hung_up', { ending: 'hung_up', error: new A2mError('INTERNAL_ERROR', '') }],
    ['QUOTA_EXCEEDED', { error: new A2mError('QUOTA_EXCEEDED', '') }],
    ['OTHER', { error: new A2mError(-1, '') }],
    ['ok', { ending: 'silent' }],
  ] as const)('ends as %s, once', (outcome, said) => {
    expect(eventOf({ ...REPORT, ...said }).outcome).toBe(outcome)
  })
})

describe('a line', () => {
  test.each([
    ['of one owner', { owner: 'a\n"b"\u2028' }],
    ['of none', { owner: null }],
    ['of several', { owner: undefined }],
  ])('reads back as it was, %s', (_, said) => {
    const event = usageEvent(said)
    const line = printEvent(event)
    expect(line).not.toContain('\n')
    expect(readEvent(line)).toEqual(event)
  })

  test('that is torn anywhere is no event', () => {
    const line = printEvent(usageEvent())
    for (let length = 0; length < line.length; length++) {
      expect(readEvent(line.slice(0, length))).toBeUndefined()
    }
  })

  test.each(['null', '[]', '{}', '"text"', '{"id":1}'])('that says %s is none', (line) => {
    expect(readEvent(line)).toBeUndefined()
  })
})

test('ids of events differ and ascend, also when the clock goes back', () => {
  const clock = new HandClock()
  const newId = createEventIds(clock, (size) => randomBytes(size))
  clock.pass(1e6)
  const ids = Array.from({ length: 2000 }, (_, turn) => {
    if (turn === 1000) clock.pass(-5e5)
    return newId()
  })
  expect(new Set(ids).size).toBe(2000)
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.every(isMinted)).toBe(true)
})
