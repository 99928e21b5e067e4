import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Change, NOTHING_REORGANISED } from '../../../src/events/changes.js'
import {
  EVENT_LOG_TABLES,
  type EventLog,
  type EventPage,
  type EventQuery,
  openEventLog,
  RETENTION,
  type Retention,
} from '../../../src/events/log.js'
import { meets } from '../../support/meets.js'

let database: Database.Database
let now: number

beforeEach(() => {
  database = new Database(':memory:')
  database.exec(EVENT_LOG_TABLES)
  now = Date.parse('2026-05-01T10:00:00.000Z')
})
afterEach(() => database.close())

const open = (retention: Partial<Retention> = {}) =>
  openEventLog(database, { ...RETENTION, ...retention, now: () => now })

const append = (log: EventLog, ...changes: Change[]) =>
  database.transaction(() => log.append(changes))()

const written = (id: string, owner: string | null = 'alice'): Change => ({
  kind: 'written',
  records: [
    { id, owner, tier: 'working', session: undefined, key: undefined, revision: undefined },
  ],
})

const ids = ({ events }: EventPage) => events.map(({ id }) => id)

/** Everything behind a cursor, page by page; no page may be longer than asked. */
function readAll(log: EventLog, query: EventQuery): EventPage['events'] {
  const all: EventPage['events'] = []
  let page = log.read(query)
  for (;;) {
    all.push(...page.events)
    if (!page.more) return all
    page = log.read({ ...query, cursor: page.cursor })
  }
}

test('without a cursor there are no events, and a place to go on from', () => {
  const log = open()
  append(log, written('a'))
  const { cursor, ...rest } = log.read({ owner: 'alice' })
  expect(rest).toEqual({ events: [] })
  append(log, written('b'))
  expect(log.read({ cursor, owner: 'alice' }).events).toEqual([
    { kind: 'written', id: 'b', tier: 'working', at: '2026-05-01T10:00:00.000Z' },
  ])
  expect(log.head()).toBe(log.read({ cursor, owner: 'alice' }).cursor)
})

const share = <T>(owner: string | null | undefined, part: T) => ({ owner, part })
const moved = (count: number) => ({ ...NOTHING_REORGANISED, moved: count })
const AT = '2026-05-01T10:00:00.000Z'

test.each<[string, Change, Readonly<Record<string, object[]>>]>([
  [
    'a record with all that may be told of it',
    {
      kind: 'written',
      records: [
        { id: 'x', owner: 'alice', tier: 't', session: 's', key: 'k', revision: 0 },
        {
          id: 'y',
          owner: 'bob',
          tier: 't',
          session: undefined,
          key: undefined,
          revision: undefined,
        },
      ],
    },
    {
      alice: [{ kind: 'written', id: 'x', tier: 't', session: 's', key: 'k', revision: 0, at: AT }],
      bob: [{ kind: 'written', id: 'y', tier: 't', at: AT }],
      all: [
        { kind: 'written', id: 'x', tier: 't', session: 's', key: 'k', revision: 0, at: AT },
        { kind: 'written', id: 'y', tier: 't', at: AT },
      ],
    },
  ],
  [
    'a forget over owners, told once to each',
    {
      kind: 'forgotten',
      shares: [share('alice', ['a']), share('bob', ['b']), share('alice', ['c'])],
    },
    {
      alice: [{ kind: 'forgotten', count: 2, ids: ['a', 'c'], at: AT }],
      bob: [{ kind: 'forgotten', count: 1, ids: ['b'], at: AT }],
      all: [{ kind: 'forgotten', count: 3, ids: ['a', 'c', 'b'], at: AT }],
    },
  ],
  [
    'a promote of some of one owner',
    { kind: 'promoted', tier: 'semantic', shares: [share('alice', ['a', 'b']), share('bob', [])] },
    {
      alice: [{ kind: 'promoted', ids: ['a', 'b'], tier: 'semantic', at: AT }],
      bob: [],
      all: [{ kind: 'promoted', ids: ['a', 'b'], tier: 'semantic', at: AT }],
    },
  ],
  [
    'a consolidate, as each owner saw it',
    { kind: 'consolidated', shares: [share('alice', moved(2)), share('bob', moved(3))] },
    {
      alice: [{ kind: 'consolidated', moved: 2, promoted: 0, dropped: 0, summarized: 0, at: AT }],
      bob: [{ kind: 'consolidated', moved: 3, promoted: 0, dropped: 0, summarized: 0, at: AT }],
      all: [{ kind: 'consolidated', moved: 5, promoted: 0, dropped: 0, summarized: 0, at: AT }],
    },
  ],
  [
    'a consolidate of everybody that found nothing to do, which is nobody’s',
    { kind: 'consolidated', shares: [share(undefined, NOTHING_REORGANISED)] },
    {
      alice: [],
      none: [],
      all: [{ kind: 'consolidated', moved: 0, promoted: 0, dropped: 0, summarized: 0, at: AT }],
    },
  ],
  [
    'the end of a session, which is a consolidate as well',
    { kind: 'session_closed', session: 's', shares: [share('alice', moved(2))] },
    {
      alice: [
        { kind: 'consolidated', moved: 2, promoted: 0, dropped: 0, summarized: 0, at: AT },
        { kind: 'session_closed', session: 's', at: AT },
      ],
      bob: [],
    },
  ],
  ['records of nobody', written('z', null), { alice: [], none: [{ id: 'z' }], all: [{ id: 'z' }] }],
  ['nothing forgotten', { kind: 'forgotten', shares: [share('alice', [])] }, { all: [] }],
  ['nothing promoted', { kind: 'promoted', tier: 't', shares: [] }, { all: [] }],
  ['no records', { kind: 'written', records: [] }, { all: [] }],
])('%s', (_, change, seen) => {
  const log = open()
  const cursor = log.head()
  append(log, change)
  for (const [reader, events] of Object.entries(seen)) {
    const owner = reader === 'all' ? undefined : reader === 'none' ? null : reader
    const page = log.read({ cursor, owner })
    expect(page.events).toHaveLength(events.length)
    expect(page.events).toMatchObject(events)
  }
})

test('ids of a large forget are left out, also where it is large for some reader only', () => {
  const log = open()
  const cursor = log.head()
  const some = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${name}${n}`)
  append(log, {
    kind: 'forgotten',
    shares: [
      share('alice', some('a', 600)),
      share('bob', some('b', 600)),
      share('carl', some('c', 1001)),
    ],
  })
  const told = (owner: string | undefined) => log.read({ cursor, owner }).events
  expect(told('alice')).toMatchObject([{ count: 600, ids: some('a', 600) }])
  expect(told('carl')).toEqual([{ kind: 'forgotten', count: 1001, at: AT }])
  expect(told(undefined)).toEqual([{ kind: 'forgotten', count: 2201, at: AT }])
})

test.each([
  [undefined, 100, true],
  [1, 1, true],
  [0, 1000, true],
  [1000, 1000, true],
  [1e9, 1000, true],
])('limit %s gives %i', (limit, count, more) => {
  const log = open()
  const cursor = log.head()
  append(log, ...Array.from({ length: 1200 }, (_, n) => written(`${n}`)))
  const page = log.read({ cursor, limit, owner: 'alice' })
  expect(page.events).toHaveLength(count)
  expect(page.more ?? false).toBe(more)
  expect(readAll(log, { cursor, limit, owner: undefined })).toHaveLength(1200)
})

test('kinds filter, and the cursor moves past what they left out', () => {
  const log = open()
  const cursor = log.head()
  append(log, written('a'), { kind: 'forgotten', shares: [share('alice', ['a'])] }, written('b'))
  const some = log.read({ cursor, kinds: ['forgotten', 'no such kind'], owner: 'alice' })
  expect(some.events.map(({ kind }) => kind)).toEqual(['forgotten'])
  expect(some.cursor).toBe(log.head())
  expect(log.read({ cursor, kinds: ['promoted'], owner: 'alice' })).toEqual({
    events: [],
    cursor: log.head(),
  })
  expect(log.read({ cursor, kinds: [], owner: 'alice' }).events).toHaveLength(3)
})

test.each([
  '',
  'x',
  '0',
  '../..',
  '0123456789abcdef',
  '0123456789abcdef.',
  '0123456789abcdef.-1',
  '0123456789abcdef.01',
  '0123456789ABCDEF.1',
  '0123456789abcdef.1 ',
  '0123456789abcdef.zzzzzzzzzzz',
  '\0',
])('%j is no cursor', (cursor) => {
  expect(() => open().read({ cursor, owner: undefined })).toThrow(
    expect.objectContaining({ code: -32602 }),
  )
})

test('a cursor of another log, or of a future that is no more, begins at the oldest and says so', () => {
  const log = open()
  append(log, written('a'))
  const [, place] = log.head().split('.')
  for (const cursor of [`0123456789abcdef.${place}`, log.head().replace(/\..*/, '.zz')]) {
    const page = log.read({ cursor, owner: 'alice' })
    expect(page).toMatchObject({ reset: true, events: [{ id: 'a' }] })
    expect(log.read({ cursor: page.cursor, owner: 'alice' })).toEqual({
      events: [],
      cursor: log.head(),
    })
  }
})

test(`beyond the bound the oldest go, and who has not read them is told ${meets('4.12/reset')}`, () => {
  const log = open({ keep: 3 })
  const start = log.head()
  append(log, written('a'))
  const behindA = log.head()
  for (const id of ['b', 'c', 'd']) append(log, written(id))
  expect(ids(log.read({ cursor: behindA, owner: 'alice' }))).toEqual(['b', 'c', 'd'])
  expect(log.read({ cursor: behindA, owner: 'alice' })).not.toHaveProperty('reset')
  const late = log.read({ cursor: start, owner: 'alice', limit: 2 })
  expect(late).toMatchObject({ reset: true, more: true })
  expect(ids(late)).toEqual(['b', 'c'])
  const rest = log.read({ cursor: late.cursor, owner: 'alice' })
  expect(ids(rest)).toEqual(['d'])
  expect(rest).not.toHaveProperty('reset')
})

test('what is too old goes with the next event', () => {
  const log = open({ maxAge: 1000 })
  const start = log.head()
  append(log, written('a'))
  now += 1001
  append(log, written('b'))
  const page = log.read({ cursor: start, owner: 'alice' })
  expect(ids(page)).toEqual(['b'])
  expect(page.reset).toBe(true)
})

test('a clock that is set back loses nothing', () => {
  const log = open({ maxAge: 1000 })
  const start = log.head()
  append(log, written('a'))
  now -= 3_600_000
  append(log, written('b'))
  expect(ids(log.read({ cursor: start, owner: 'alice' }))).toEqual(['a', 'b'])
})

test('long events count as many, and the newest stays however long it is', () => {
  const log = open({ keep: 10 })
  const start = log.head()
  for (let n = 0; n < 10; n++) append(log, written(`${n}`))
  append(log, written('x'.repeat(100_000)))
  const [only, ...others] = readAll(log, { cursor: start, owner: 'alice' })
  expect(others).toEqual([])
  expect(only).toMatchObject({ id: 'x'.repeat(100_000) })
})

test('a page ends where it grows too large', () => {
  const log = open()
  const cursor = log.head()
  const long = (n: number) => `${n}${'x'.repeat(400_000)}`
  for (let n = 0; n < 6; n++) append(log, written(long(n)))
  const page = log.read({ cursor, owner: 'alice' })
  expect(page.events.length).toBeLessThan(6)
  expect(page.more).toBe(true)
  expect(readAll(log, { cursor, owner: 'alice' }).map(({ id }) => id)).toEqual(
    [0, 1, 2, 3, 4, 5].map(long),
  )
})

test('an event is there with its change or not at all', () => {
  const log = open()
  const start = log.head()
  expect(() => log.append([written('a')])).toThrow(TypeError)
  const fails = database.transaction(() => {
    log.append([written('b')])
    throw new Error('undone')
  })
  expect(fails).toThrow('undone')
  append(log, written('c'))
  expect(ids(log.read({ cursor: start, owner: 'alice' }))).toEqual(['c'])
})

test('another log of the same database knows the cursors of the first', () => {
  const first = open()
  const cursor = first.head()
  append(first, written('a'))
  expect(open().read({ cursor, owner: 'alice' })).toEqual(first.read({ cursor, owner: 'alice' }))
  const other = new Database(':memory:')
  other.exec(EVENT_LOG_TABLES)
  const stranger = openEventLog(other, { ...RETENTION, now: () => now })
  expect(stranger.read({ cursor, owner: 'alice' }).reset).toBe(true)
  other.close()
})

const OWNERS = ['alice', 'bob', null] as const

/** A change whose events name its number in every part, so that they can be told apart. */
const change = (n: number, kind: number, owners: readonly (string | null)[]): Change => {
  const name = `${n}`
  const shares = owners.map((owner) => share(owner, [name]))
  const counts = owners.map((owner) => share(owner, moved(n)))
  return (
    (
      [
        {
          kind: 'written',
          records: owners.map((owner) => ({
            ...{ id: name, owner, tier: undefined, session: undefined },
            ...{ key: undefined, revision: undefined },
          })),
        },
        { kind: 'forgotten', shares },
        { kind: 'promoted', tier: name, shares },
        { kind: 'consolidated', shares: counts },
      ] satisfies Change[]
    )[kind] ?? { kind: 'session_closed', session: name, shares: counts }
  )
}

test(`pollers see every event that is kept once and in order, whatever is written, kept and asked in between ${meets('4.12/exactly-once')}`, () => {
  const step = fc.oneof(
    fc.record({
      append: fc.nat(4),
      owners: fc.uniqueArray(fc.constantFrom(...OWNERS), { minLength: 1 }),
    }),
    fc.record({ poll: fc.nat(7), limit: fc.constantFrom(undefined, 0, 1, 2, 5) }),
    fc.record({ wait: fc.nat(400) }),
  )
  const readers = [...OWNERS, undefined].flatMap((owner) => [
    { owner, kinds: undefined },
    { owner, kinds: ['written', 'consolidated'] },
  ])
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 1, max: 12 }),
      (steps, keep) => {
        const own = new Database(':memory:')
        own.exec(EVENT_LOG_TABLES)
        let time = 0
        const log = openEventLog(own, { keep, maxAge: 1000, now: () => time })
        const endless = new Database(':memory:')
        endless.exec(EVENT_LOG_TABLES)
        const whole = openEventLog(endless, { keep: 1e9, maxAge: 1e9, now: () => time })
        const start = whole.head()
        const places = readers.map(() => ({ cursor: log.head(), seen: start }))
        for (const [n, what] of steps.entries()) {
          if ('wait' in what) time += what.wait
          else if ('append' in what) {
            const made = change(n, what.append, what.owners)
            own.transaction(() => log.append([made]))()
            endless.transaction(() => whole.append([made]))()
          } else poll(what.poll, what.limit)
        }
        for (const reader of readers.keys()) for (let n = 0; n < 3; n++) poll(reader, 0)
        own.close()
        endless.close()

        function poll(reader: number, limit: number | undefined): void {
          const place = places[reader]
          const who = readers[reader]
          if (place === undefined || who === undefined) throw new Error('no such reader')
          const page = log.read({ ...who, cursor: place.cursor, limit })
          const truth = readAll(whole, { ...who, cursor: place.seen, limit: 1 })
          const from = page.reset ? truth.length - countOf(log, who, page) : 0
          expect(page.events).toEqual(truth.slice(from, from + page.events.length))
          if (!page.more) expect(from + page.events.length).toBe(truth.length)
          place.cursor = page.cursor
          place.seen = advance(whole, who, { cursor: place.seen, by: from + page.events.length })
        }
      },
    ),
    { numRuns: 100 },
  )
}, 30_000)

type Who = Pick<EventQuery, 'owner' | 'kinds'>

/** How many events a reader who begins at the oldest has in front of it, this page included. */
function countOf(log: EventLog, who: Who, page: EventPage): number {
  const behind = page.more ? readAll(log, { ...who, cursor: page.cursor }).length : 0
  return page.events.length + behind
}

function advance(
  log: EventLog,
  who: Who,
  { cursor, by }: { readonly cursor: string; readonly by: number },
): string {
  let at = cursor
  for (let n = 0; n < by; n++) at = log.read({ ...who, cursor: at, limit: 1 }).cursor
  return at
}
