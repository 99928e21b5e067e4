import { beforeEach, describe, expect, test } from 'vitest'
import type { UsageEvent } from '../../src/metering/event.js'
import type { Batch, Ledger } from '../../src/metering/ledger.js'
import { readQuery, readStockQuery } from '../../src/metering/query.js'
import { TEN, usageEvent } from './usage-events.js'

const HOUR = 3_600_000

/** What every ledger must do; `open` gives an empty one that is closed with the test. */
export function describeLedger(name: string, open: () => Promise<Ledger>): void {
  describe(name, () => {
    let ledger: Ledger
    beforeEach(async () => {
      ledger = await open()
    })

    const add = (events: readonly UsageEvent[], said: Partial<Batch> = {}) =>
      ledger.add({ lane: 'one', segment: 1, position: 10, events, ...said })
    const ask = (query: string) =>
      ledger.usage(readQuery(new URLSearchParams(`from=2026-01&to=2027-01&${query}`), TEN))

    test('counts an event once, however often and by whichever lane it comes', async () => {
      const event = usageEvent({ recordsOut: 3 })
      expect(await add([event, event])).toBe(1)
      expect(await add([event], { lane: 'two' })).toBe(0)
      expect((await ask('by=caller')).totals).toMatchObject({ calls: 1, records_out: 3 })
    })

    test('remembers how far a lane has come, together with its events', async () => {
      expect(await ledger.position('one')).toBeUndefined()
      await add([usageEvent()], { segment: 7, position: 99 })
      await add([usageEvent()], { lane: 'two' })
      expect(await ledger.position('one')).toEqual({ segment: 7, position: 99 })
    })

    test('adds nothing at all of a batch that it cannot add whole', async () => {
      const bad = { ...usageEvent(), ms: Number.NaN, bytesIn: Number.NaN }
      await expect(add([usageEvent(), bad])).rejects.toThrow()
      expect((await ask('')).totals['calls']).toBe(0)
      expect(await ledger.position('one')).toBeUndefined()
    })

    test('tells sums by every dimension', async () => {
      await add([
        usageEvent({ caller: 'a', owner: 'x', tokens: 5, charactersOut: 20, outcome: 'ok' }),
        usageEvent({ caller: 'a', owner: null, method: 'memory/remember', recordsIn: 2 }),
        usageEvent({ caller: 'b', owner: undefined, at: TEN + HOUR, outcome: 'hung_up' }),
        usageEvent({ caller: 'b', at: Date.UTC(2026, 3, 2), version: 'a2m/0.2' }),
      ])
      const by = async (names: string) => (await ask(`by=${names}`)).lines
      expect(await by('caller')).toMatchObject([
        { caller: 'a', calls: 2, tokens: 5, characters_out: 20, records_in: 2 },
        { caller: 'b', calls: 2 },
      ])
      expect(await by('owner')).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ owner: 'x', owner_kind: 'one', calls: 1 }),
          expect.objectContaining({ owner: null, owner_kind: 'none', records_in: 2 }),
          expect.objectContaining({ owner: null, owner_kind: 'several', calls: 1 }),
        ]),
      )
      expect((await by('hour')).map(({ hour, calls }) => [hour, calls])).toEqual([
        ['2026-03-01T10:00:00.000Z', 2],
        ['2026-03-01T11:00:00.000Z', 1],
        ['2026-04-02T00:00:00.000Z', 1],
      ])
      expect((await by('day')).map(({ day }) => day)).toEqual(['2026-03-01', '2026-04-02'])
      expect((await by('month,outcome')).map(({ month, outcome }) => [month, outcome])).toEqual([
        ['2026-03', 'ok'],
        ['2026-03', 'hung_up'],
        ['2026-04', 'ok'],
      ])
      expect((await by('method,version')).length).toBe(3)
    })

    test('a call of two tiers stands in both lines and is once in the total', async () => {
      await add([
        usageEvent({ tiers: ['working', 'semantic'], recordsOut: 4 }),
        usageEvent({ tiers: ['semantic', 'working'] }),
        usageEvent({ tiers: ['semantic'] }),
        usageEvent(),
      ])
      const told = await ask('by=tier')
      expect(told.lines.map(({ tier, calls }) => [tier, calls])).toEqual([
        ['semantic', 3],
        ['working', 2],
        ['', 1],
      ])
      expect(told.totals).toMatchObject({ calls: 4, records_out: 4 })
      expect((await ask('by=tier&tier=working')).lines).toMatchObject([
        { tier: 'working', calls: 2 },
      ])
      expect((await ask('by=caller&tier=working')).totals['calls']).toBe(2)
    })

    test('failures are of the upstream that failed, whatever became of the call', async () => {
      const ask1 = { upstream: 'good', attempts: 1, state: 'ok', records: 5, ms: 2 } as const
      const failed = { upstream: 'bad', attempts: 3, state: 'failed', records: 0, ms: 9 } as const
      const left = { upstream: 'off', attempts: 0, state: 'skipped', records: 0, ms: 0 } as const
      await add([
        usageEvent({ asks: [ask1, failed, left] }),
        usageEvent({ asks: [ask1, { ...failed, state: 'timeout' }], outcome: 'hung_up' }),
        usageEvent({ asks: [ask1, { ...ask1, state: 'refused' }] }),
      ])
      const told = await ask('by=upstream')
      expect(told.lines).toMatchObject([
        { upstream: 'good', calls: 3, asks: 4, attempts: 4, failures: 0, refusals: 1, records: 20 },
        { upstream: 'bad', calls: 2, asks: 2, attempts: 6, failures: 2 },
        { upstream: 'off', calls: 1, asks: 0, attempts: 0, skipped: 1 },
      ])
      expect(told.totals).toMatchObject({ calls: 3, attempts: 10, failures: 2 })
      expect((await ask('by=caller&upstream=bad')).lines).toMatchObject([{ calls: 2, failures: 2 }])
      expect((await ask('by=caller')).totals['attempts']).toBe(10)
    })

    test('takes names as they are, and as nothing else', async () => {
      const names = ["'; DROP TABLE usage_calls; --", '%', 'ユーザー', 'a\u0000b', '"x",y', '']
      await add(names.map((caller) => usageEvent({ caller, owner: `o${caller}`, tiers: [caller] })))
      const { lines } = await ask('by=caller,tier')
      expect(lines).toHaveLength(names.length)
      for (const name of names) {
        const one = new URLSearchParams({ caller: name, owner: `o${name}`, tier: name })
        expect((await ask(`by=owner&${one}`)).totals['calls']).toBe(1)
      }
    })

    test('filters by several of one name, by records without an owner, and by time', async () => {
      await add([
        usageEvent({ caller: 'a' }),
        usageEvent({ caller: 'b', owner: null }),
        usageEvent({ caller: 'c', at: TEN - HOUR }),
      ])
      expect((await ask('caller=a&caller=b')).totals['calls']).toBe(2)
      expect((await ask('owner=')).lines).toMatchObject([{ caller: 'b' }])
      const since = new URLSearchParams('from=2026-03-01T10:00:00Z&to=2026-03-01T10:30:00Z')
      expect((await ledger.usage(readQuery(since, TEN))).totals['calls']).toBe(2)
    })

    test('gives as many lines as asked for, and says that there are more', async () => {
      await add(['a', 'b', 'c'].map((caller) => usageEvent({ caller })))
      const told = await ask('limit=2')
      expect([told.lines.length, told.more, told.totals['calls']]).toEqual([2, true, 3])
      expect((await ask('limit=3')).more).toBe(false)
    })

    test('events go back in time when the clock does, and stand where they say', async () => {
      await add([
        usageEvent({ at: TEN }),
        usageEvent({ at: TEN - 5 * HOUR }),
        usageEvent({ at: TEN }),
      ])
      const told = await ask('by=hour')
      expect(told.lines.map(({ calls }) => calls)).toEqual([1, 2])
    })

    test('sinks get the events of a lane in order, and go on where they were', async () => {
      const events = Array.from({ length: 5 }, (_, index) => usageEvent({ bytesIn: index }))
      await add(events.slice(0, 3))
      await add([usageEvent()], { lane: 'two' })
      await add(events.slice(3))
      expect(await ledger.cursor('one', 'sink')).toBe(0)
      const first = await ledger.after('one', 0, 3)
      await ledger.moveCursor('one', 'sink', first.at(-1)?.seq ?? 0)
      const rest = await ledger.after('one', await ledger.cursor('one', 'sink'), 10)
      expect([...first, ...rest].map(({ event }) => event)).toEqual(
        JSON.parse(JSON.stringify(events)),
      )
      expect(await ledger.cursor('two', 'sink')).toBe(0)
    })

    test('old events go, their sums stay, and they are not counted anew by their lane', async () => {
      const [old, young] = [usageEvent({ at: TEN - 100 * HOUR }), usageEvent()]
      await add([old, young])
      expect(await ledger.prune(TEN - HOUR)).toBe(1)
      expect(await ledger.prune(TEN - HOUR)).toBe(0)
      expect(await ledger.after('one', 0, 10)).toHaveLength(1)
      expect((await ask('')).totals['calls']).toBe(2)
    })

    describe('stock', () => {
      const NONE = { records: 0, characters: 0 }
      const one = { source: 'gateway', owner: '1:x', tier: 'working', written: NONE }
      const stock = (query: string, now: number) =>
        ledger.stock(readStockQuery(new URLSearchParams(query), now))

      test('tier-hours are records times the hours that they were there', async () => {
        await ledger.count([{ ...one, records: 10, characters: 100, at: TEN }])
        await ledger.count([{ ...one, records: 4, characters: undefined, at: TEN + 2 * HOUR }])
        const told = await stock('from=2026-03-01', TEN + 3 * HOUR)
        expect(told.lines).toMatchObject([
          {
            gateway: 'gateway',
            owner: 'x',
            tier: 'working',
            records: 4,
            characters: 40,
            tier_hours: 24,
          },
        ])
        expect(told.totals).toEqual({ records: 4, characters: 40, tier_hours: 24 })
      })

      test('hours fall on the days that they were in', async () => {
        await ledger.count([{ ...one, records: 1, characters: 1, at: TEN }])
        await ledger.count([{ ...one, records: 0, characters: 0, at: TEN + 24 * HOUR }])
        const hours = async (query: string) =>
          (await stock(query, TEN + 48 * HOUR)).totals.tier_hours
        expect(await hours('from=2026-03-01&to=2026-03-02')).toBe(14)
        expect(await hours('from=2026-03-02&to=2026-03-03')).toBe(10)
        expect(await hours('from=2026-03-01&to=2026-03-03')).toBe(24)
      })

      test('a clock that goes back takes no hours away and adds none twice', async () => {
        await ledger.count([{ ...one, records: 2, characters: 2, at: TEN }])
        await ledger.count([{ ...one, records: 3, characters: 2, at: TEN - 5 * HOUR }])
        await ledger.count([{ ...one, records: 3, characters: 2, at: TEN + HOUR }])
        expect((await stock('from=2026-02', TEN + HOUR)).totals.tier_hours).toBe(3)
      })

      test('characters between two close counts follow what was written and what is left', async () => {
        await ledger.count([{ ...one, records: 2, characters: 20, at: TEN }])
        const written = { records: 2, characters: 40 }
        await ledger.count([{ ...one, written, records: 4, characters: undefined, at: TEN }])
        expect((await stock('', TEN)).totals.characters).toBe(60)
        await ledger.count([{ ...one, records: 1, characters: undefined, at: TEN }])
        expect((await stock('', TEN)).totals.characters).toBe(15)
      })

      test('is told of one owner, or of one gateway', async () => {
        const count = { ...one, records: 1, characters: 1, at: TEN }
        await ledger.count([count, { ...count, owner: 'none:' }, { ...count, source: 'other' }])
        expect((await stock('owner=x', TEN)).lines).toHaveLength(2)
        expect((await stock('owner=', TEN)).lines).toMatchObject([{ owner: null }])
        expect((await stock('gateway=other', TEN)).lines).toHaveLength(1)
        expect((await stock('limit=2', TEN)).more).toBe(true)
      })

      test('knows whom to count at night', async () => {
        await ledger.count([{ ...one, records: 1, characters: 1, at: TEN }])
        await add([usageEvent({ owner: 'caller' }), usageEvent({ owner: undefined })])
        const owners = await ledger.owners('gateway', TEN / HOUR - 1)
        expect(owners.toSorted()).toEqual(['1:x', '6:caller'])
      })
    })
  })
}
