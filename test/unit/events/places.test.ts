import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Change, NOTHING_REORGANISED } from '../../../src/events/changes.js'
import {
  EVENT_LOG_TABLES,
  type EventLog,
  type EventLogOptions,
  openEventLog,
  RETENTION,
} from '../../../src/events/log.js'
import { EVENT_PLACES_TABLE, partSeen, type Sees } from '../../../src/events/places.js'

let database: Database.Database
beforeEach(() => {
  database = new Database(':memory:')
  database.exec(EVENT_LOG_TABLES)
  database.exec(EVENT_PLACES_TABLE)
})
afterEach(() => database.close())

const open = (over: Partial<EventLogOptions> = {}) =>
  openEventLog(database, { ...RETENTION, places: 'kept', now: () => 0, ...over })

const append = (log: EventLog, ...changes: Change[]) =>
  database.transaction(() => log.append(changes))()

const written = (id: string, tier: string, key?: string): Change => ({
  kind: 'written',
  records: [
    { id, owner: 'ann', tier, upstream: 'a', session: undefined, key, revision: undefined },
  ],
})

const inTier =
  (name: string): Sees =>
  ({ tier }) =>
    tier === name
const START = { owner: 'ann', limit: 0 }

function told(log: EventLog, cursor: string, sees: Sees) {
  return log.read({ ...START, cursor, sees }).events.map(({ kind, id, ids }) => id ?? ids ?? kind)
}

test('a reader is told of what is in places that it sees', () => {
  const log = open()
  const { cursor } = log.read(START)
  append(log, written('a', 'open'), written('b', 'secret'), written('c', 'open', 'wf/1'))
  expect(told(log, cursor, inTier('open'))).toEqual(['a', 'c'])
  expect(told(log, cursor, ({ key }) => key === undefined)).toEqual(['a', 'b'])
  expect(log.read({ ...START, cursor }).events.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

test('of what was logged without places, such a reader is told nothing', () => {
  const untold = open({ places: 'untold' })
  const { cursor } = untold.read(START)
  append(untold, written('a', 'open'))
  const kept = open()
  append(kept, { kind: 'forgotten', shares: [{ owner: 'ann', part: ['x'] }] }, written('b', 'open'))
  expect(told(kept, cursor, () => true)).toEqual(['b'])
  expect(told(untold, cursor, () => true)).toEqual(['b'])
})

test('places go with their events', () => {
  const log = open({ keep: 10 })
  for (let n = 0; n < 50; n++) append(log, written(String(n), 'open'))
  const count = (table: string) => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
  expect(count('event_places')).toBe(count('events'))
  expect(Number(count('events'))).toBeLessThan(15)
})

test('a page ends where very many events were passed over, and says that there are more', () => {
  const log = open({ keep: 100_000 })
  const { cursor } = log.read(START)
  append(log, ...Array.from({ length: 10_500 }, (_, n) => written(String(n), 'secret')))
  append(log, written('last', 'open'))
  const first = log.read({ ...START, cursor, sees: inTier('open') })
  expect(first).toMatchObject({ events: [], more: true })
  expect(told(log, first.cursor, inTier('open'))).toEqual(['last'])
})

describe('of one event', () => {
  const place = (tier: string) => ({ tier, upstream: 'a' })
  const sees = inTier('open')

  test.each<[string, string, object, string[] | undefined, object | undefined]>([
    [
      'the ids that it sees',
      'promoted',
      { ids: ['a', 'b'], tier: 'open' },
      ['open', 'secret'],
      { ids: ['a'], tier: 'open' },
    ],
    [
      'how many of them',
      'forgotten',
      { count: 2, ids: ['a', 'b'] },
      ['secret', 'open'],
      { count: 1, ids: ['b'] },
    ],
    ['nothing where it sees none', 'forgotten', { count: 1, ids: ['a'] }, ['secret'], undefined],
    ['nothing where nobody can tell', 'forgotten', { count: 1, ids: ['a'] }, undefined, undefined],
    ['nothing of a count without ids', 'forgotten', { count: 2000 }, undefined, undefined],
    ['counts where it sees all', 'consolidated', { moved: 2 }, ['open', 'open'], { moved: 2 }],
    ['no counts where it does not', 'consolidated', { moved: 2 }, ['open', 'secret'], undefined],
    ['that nothing was moved', 'consolidated', NOTHING_REORGANISED, [], NOTHING_REORGANISED],
    [
      'that a session was closed of which it sees something',
      'session_closed',
      { session: 's' },
      ['secret', 'open'],
      { session: 's' },
    ],
    ['nothing of another session', 'session_closed', { session: 's' }, ['secret'], undefined],
  ])('a reader is told %s', (_, kind, part, tiers, expected) => {
    expect(partSeen(kind, { ...part }, tiers?.map(place), sees)).toEqual(expected)
  })

  test('ids and places stay together, whichever owners and records a change names twice', () => {
    const anyShare = fc.record({
      owner: fc.constantFrom('ann', 'bob'),
      part: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
    })
    fc.assert(
      fc.property(fc.array(anyShare, { maxLength: 4 }), (shares) => {
        const log = open()
        const { cursor } = log.read(START)
        const placed = shares.map(({ owner, part }) => ({
          owner,
          part,
          places: part.map((id) => place(id === 'b' ? 'secret' : 'open')),
        }))
        append(log, { kind: 'forgotten', shares: placed })
        const own = new Set(
          shares.filter(({ owner }) => owner === 'ann').flatMap(({ part }) => part),
        )
        const seen = [...own].filter((id) => id !== 'b')
        const { events } = log.read({ ...START, cursor, sees })
        expect(events.map(({ ids }) => ids)).toEqual(seen.length === 0 ? [] : [seen])
      }),
    )
  })
})
