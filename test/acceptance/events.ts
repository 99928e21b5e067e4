import { describe, expect, test } from 'vitest'
import type { ResultOf } from '../../src/protocol/methods.js'
import { parseInstant } from '../../src/protocol/time.js'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

type Page = ResultOf<'memory/events'>

async function here(client: Client): Promise<string> {
  return (await client.call('memory/events')).cursor
}

/** All events behind a cursor, read in pages of a size. */
async function since(client: Client, cursor: string, params: object = {}): Promise<Page['events']> {
  const events: Page['events'] = []
  for (let at = cursor, more = true; more; ) {
    const page = await client.call('memory/events', { ...params, cursor: at })
    expect(page.reset).not.toBe(true)
    events.push(...page.events)
    at = page.cursor
    more = page.more === true
  }
  return events
}

function remember(client: Client, records: readonly object[]): Promise<{ readonly ids: string[] }> {
  return client.call('memory/remember', { records })
}

const kinds = (events: Page['events']) => events.map(({ kind }) => kind)

/** The events capability (§4.12 to §4.14), as far as it is polled; what is pushed needs a connection of its own. */
export function describeEvents(bench: Bench): void {
  const { client, mark, traits } = bench
  const [first, second] = traits.tiers

  describe('events', () => {
    test(`without a cursor are none, and a place to begin from ${meets('4.12/event')}`, async () => {
      await remember(client(), [{ content: 'before' }])
      const page = await client().call('memory/events')
      expect(page.events).toEqual([])
      expect(await since(client(), page.cursor)).toEqual([])
      await remember(client(), [{ content: 'after' }])
      const [event, ...others] = await since(client(), page.cursor)
      expect(others).toEqual([])
      expect(event?.kind).toBe('written')
      expect(event?.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(Math.abs((parseInstant(event?.at ?? '') ?? 0) - Date.now())).toBeLessThan(60_000)
    })

    test(`are one for each record written, in order, once, however they are read ${meets('4.12/exactly-once')}`, async () => {
      const cursor = await here(client())
      const all: string[] = []
      for (let batch = 0; batch < 3; batch++) {
        const records = [{ content: 'a', tier: second }, { content: 'b' }, { content: 'c' }]
        all.push(...(await remember(client(), records)).ids)
      }
      for (const params of [{}, { limit: 0 }, { limit: 1 }, { limit: 2 }, { limit: 1e9 }]) {
        const events = await since(client(), cursor, params)
        expect(events.map(({ id }) => id)).toHaveLength(all.length)
        expect(new Set(events.map(({ id }) => id))).toEqual(new Set(all))
        expect(events).toEqual(await since(client(), cursor))
      }
      const batches = (await since(client(), cursor)).map(({ id }) => all.indexOf(String(id)))
      expect(batches.map((place) => Math.floor(place / 3))).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2])
      const tiers = (await since(client(), cursor)).map(({ tier }) => tier)
      expect(tiers.filter((tier) => tier === second)).toHaveLength(3)
      expect(tiers.filter((tier) => tier === first)).toHaveLength(6)
    })

    test('of an id that was there already are none', async () => {
      const id = mark()
      const cursor = await here(client())
      await remember(client(), [{ id, content: 'x' }])
      await remember(client(), [{ id, content: 'y' }])
      expect(await since(client(), cursor)).toMatchObject([{ kind: 'written', id }])
    })

    test(`are one for each forget and each promote that changed anything ${meets('4.12/coalesced')}`, async () => {
      const where = marked(mark())
      const records = ['a', 'b', 'c'].map((content) => ({ content, metadata: where, tier: first }))
      const { ids } = await remember(client(), records)
      const cursor = await here(client())
      await client().call('memory/promote', { ids, tier: second })
      await client().call('memory/promote', { ids, tier: second })
      await client().call('memory/forget', { where })
      await client().call('memory/forget', { where })
      const [promoted, forgotten, ...others] = await since(client(), cursor)
      expect(others).toEqual([])
      expect(promoted).toMatchObject({ kind: 'promoted', tier: second })
      expect(promoted?.['ids']).toEqual(expect.arrayContaining(ids))
      expect(forgotten).toMatchObject({ kind: 'forgotten', count: 3 })
    })

    test(`are one for each consolidate, with its counts ${meets('4.12/coalesced')}`, async () => {
      const { capacity = 0, tier = first } = traits.spill ?? {}
      const carl = client('carl')
      const records = Array.from({ length: capacity + 3 }, (_, n) => ({ content: `${n}`, tier }))
      await remember(carl, records)
      const cursor = await here(carl)
      const { moved, promoted, dropped, summarized } = await carl.call('memory/consolidate')
      expect(await since(carl, cursor)).toMatchObject([
        { kind: 'consolidated', moved, promoted, dropped, summarized },
      ])
    })

    test('are of the kinds asked for, and the cursor goes past the others', async () => {
      const cursor = await here(client())
      const { ids } = await remember(client(), [{ content: 'a' }, { content: 'b' }])
      await client().call('memory/forget', { ids })
      await remember(client(), [{ content: 'c' }])
      expect(kinds(await since(client(), cursor, { kinds: ['forgotten'] }))).toEqual(['forgotten'])
      expect(await since(client(), cursor, { kinds: ['no such kind'] })).toEqual([])
      const all = kinds(
        await since(client(), cursor, { kinds: ['written', 'forgotten'], limit: 1 }),
      )
      expect(all).toEqual(['written', 'written', 'forgotten', 'written'])
      const page = await client().call('memory/events', { cursor, kinds: ['promoted'] })
      expect(page.cursor).toBe(await here(client()))
    })

    test.skipIf(traits.owners === undefined)(
      `are told to those alone whose records they are about ${meets('4.12/scoped')}`,
      async () => {
        const [anna, ben] = [client('anna'), client('ben')]
        const places = [await here(anna), await here(ben)] as const
        const [id = ''] = (await remember(anna, [{ content: 'a' }])).ids
        await anna.call('memory/promote', { ids: [id], tier: second })
        const [other = ''] = (await remember(ben, [{ content: 'b' }])).ids
        await anna.call('memory/consolidate')
        await anna.call('memory/forget', { ids: [id, other] })
        const ofAnna = await since(anna, places[0])
        expect(kinds(ofAnna)).toEqual(['written', 'promoted', 'consolidated', 'forgotten'])
        expect(JSON.stringify(ofAnna)).not.toContain(other)
        expect(await since(ben, places[1])).toMatchObject([{ kind: 'written', id: other }])
        expect(await since(ben, places[0])).toMatchObject([{ kind: 'written', id: other }])
      },
    )

    test.each(['', 'garbage', 'AAAA', '0123456789abcdef'])('%j is no cursor', async (cursor) => {
      expect(await client().code('memory/events', { cursor })).toBe(-32602)
    })

    test.each([-1, 1.5, '10', true, {}])('limit %j is refused', async (limit) => {
      expect(await client().code('memory/events', { limit })).toBe(-32602)
    })

    test.each([7, 'written', {}, { list: [7] }, { list: [''] }])(
      'kinds %j are refused',
      async (given) => {
        const kinds = typeof given === 'object' && 'list' in given ? given.list : given
        expect(await client().code('memory/events', { kinds })).toBe(-32602)
      },
    )

    test('null is absent', async () => {
      const { events } = await client().call('memory/events', {
        cursor: null,
        limit: null,
        kinds: null,
      })
      expect(events).toEqual([])
    })

    test(`are pushed where describe says so, and subscribing fails elsewhere ${meets('4.13/told', '4.13/truthful', '4.13/refused')}`, async () => {
      const { events } = await client().call('memory/describe')
      expect(events?.push).toBeTypeOf('boolean')
      if (events?.push) return
      expect(await client().code('memory/events/subscribe')).toBe(-32003)
      expect(await client().code('memory/events/subscribe', { kinds: ['written'] })).toBe(-32003)
    })

    test(`are unsubscribed from by who never subscribed ${meets('4.14/no-op')}`, async () => {
      const left = await client().call('memory/events/unsubscribe')
      expect(left).toEqual({ subscribed: false })
    })
  })
}
