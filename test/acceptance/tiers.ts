import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

const NOWHERE = 'no such tier'

async function counts(client: Client): Promise<Readonly<Record<string, number>>> {
  const { tiers = [] } = await client.call('memory/describe')
  return Object.fromEntries(tiers.map(({ name, count }) => [name, count]))
}

async function tiersOf(client: Client, where: object): Promise<readonly (string | undefined)[]> {
  const { records } = await client.call('memory/timeline', { where, limit: 0 })
  return records.map(({ tier }) => tier)
}

/** Until the clock has gone on by a millisecond at least: the order of equal instants is left open. */
async function nextInstant(): Promise<void> {
  const start = Date.now()
  while (Date.now() <= start + 1) await new Promise(setImmediate)
}

/** The tiers capability (§3.4, §4.6, §4.7). */
export function describeTiers(bench: Bench): void {
  const { traits, client, mark } = bench
  const [first, second] = traits.tiers

  describe('tiers', () => {
    test(`are told with the caller’s counts ${meets('4.7/tiers')}`, async () => {
      const { tiers = [] } = await client().call('memory/describe')
      expect(tiers.map(({ name }) => name)).toEqual(traits.tiers)
      const before = await counts(client())
      const metadata = marked(mark())
      const records = [{ content: 'a' }, { content: 'b' }, { content: 'c', tier: second }]
      const batch = records.map((entry) => ({ ...entry, metadata }))
      await client().call('memory/remember', { records: batch })
      expect(await counts(client())).toEqual({
        ...before,
        [first]: (before[first] ?? 0) + 2,
        [second]: (before[second] ?? 0) + 1,
      })
    })

    test('hold what names them; the first holds the rest', async () => {
      for (const tier of traits.tiers) {
        const where = marked(mark())
        const records = [{ content: 'named', metadata: where, tier }]
        await client().call('memory/remember', { records })
        expect(await tiersOf(client(), where)).toEqual([tier])
      }
      const where = marked(mark())
      await client().call('memory/remember', { records: [{ content: 'x', metadata: where }] })
      expect(await tiersOf(client(), where)).toEqual([first])
    })

    test('select what is read and forgotten', async () => {
      const where = marked(mark())
      const records = [first, second, second].map((tier) => ({
        content: 'c',
        metadata: where,
        tier,
      }))
      await client().call('memory/remember', { records })
      for (const method of ['memory/recall', 'memory/timeline'] as const) {
        const inSecond = await client().call(method, { where, tier: second })
        expect(inSecond.records.map(({ tier }) => tier)).toEqual([second, second])
        const any = { ...where, tier: [first, second] }
        expect((await client().call(method, { where: any })).records).toHaveLength(3)
        const none = await client().call(method, { where: { ...where, tier: second }, tier: first })
        expect(none.records).toEqual([])
      }
      const forgotten = await client().call('memory/forget', { where, tier: second })
      expect(forgotten).toEqual({ forgotten: 2 })
      expect(await tiersOf(client(), where)).toEqual([first])
    })

    test(`that do not exist are -32002, and nothing is written ${meets('7/unknown-tier', '4.6/unknown-tier', '4.2/no-short-list')}`, async () => {
      const where = marked(mark())
      const bad = { content: 'bad', metadata: where, tier: NOWHERE }
      const records = [{ content: 'good', metadata: where }, bad]
      expect(await client().code('memory/remember', { records })).toBe(-32002)
      expect(await tiersOf(client(), where)).toEqual([])
      for (const method of ['memory/recall', 'memory/timeline', 'memory/forget']) {
        expect(await client().code(method, { tier: NOWHERE })).toBe(-32002)
      }
      expect(await client().code('memory/promote', { ids: ['x'], tier: NOWHERE })).toBe(-32002)
    })
  })

  describePromote(bench)
  describeConsolidate(bench)
}

function describePromote({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers
  const all = async (where: object) =>
    (await client().call('memory/timeline', { where, limit: 0 })).records

  describe('promote', () => {
    test(`moves a record whole ${meets('4.6/unknown-ids', '4.6/already-there', '7/unknown-record')}`, async () => {
      const id = mark()
      const entry = { id, content: 'c', role: 'tool', metadata: { id, n: 1 }, tier: first }
      await client().call('memory/remember', { records: [entry] })
      const [before] = await all({ id })
      const params = { ids: [id, id, 'no such id'], tier: second }
      expect(await client().call('memory/promote', params)).toEqual({ promoted: 1 })
      expect(await all({ id })).toEqual([{ ...before, tier: second }])
      expect(await client().call('memory/promote', params)).toEqual({ promoted: 0 })
      const recalled = await client().call('memory/recall', { query: 'c', where: { id } })
      expect(recalled.records).toMatchObject([{ id, tier: second, created_at: before?.created_at }])
    })

    test(`takes the whole group along and nothing else ${meets('3.4/moved-together')}`, async () => {
      const where = marked(mark())
      const group = `g-${where.mark}`
      const grouped = ['a', 'b', 'c'].map((content) => ({ content, group, metadata: where }))
      const records = [...grouped, { content: 'alone', metadata: where }]
      const { ids } = await client().call('memory/remember', { records })
      const moved = await client().call('memory/promote', { ids: ids.slice(1, 2), tier: second })
      expect(moved).toEqual({ promoted: 3 })
      const found = (await all(where)).map(({ content, tier }) => [content, tier])
      expect(new Map(found.map(([content, tier]) => [content, tier]))).toEqual(
        new Map([
          ['a', second],
          ['b', second],
          ['c', second],
          ['alone', first],
        ]),
      )
    })

    test('keeps the place in the timeline', async () => {
      const where = marked(mark())
      const ids: string[] = []
      for (const content of ['a', 'b', 'c']) {
        await nextInstant()
        const written = await client().call('memory/remember', {
          records: [{ content, metadata: where }],
        })
        ids.push(...written.ids)
      }
      const before = await all(where)
      await client().call('memory/promote', { ids: ids.slice(0, 2), tier: second })
      expect((await all(where)).map(({ id }) => id)).toEqual(ids)
      expect((await all(where)).map((record) => record.created_at)).toEqual(
        before.map((record) => record.created_at),
      )
    })

    test('of nothing moves nothing', async () => {
      expect(await client().call('memory/promote', { ids: [], tier: second })).toEqual({
        promoted: 0,
      })
    })

    test.each([
      [{}],
      [{ ids: ['a'] }],
      [{ tier: 'x' }],
      [{ ids: 'a', tier: 'x' }],
      [{ ids: [1], tier: 'x' }],
    ])(`%j is refused ${meets('4.6/required')}`, async (params) => {
      expect(await client().code('memory/promote', params)).toBe(-32602)
    })
  })
}

function describeConsolidate({ traits, client, mark }: Bench): void {
  describe('consolidate', () => {
    test('tells what it did and what is where', async () => {
      const told = await client().call('memory/consolidate', { ignored: 1 })
      expect(Object.keys(told.counts).sort()).toEqual([...traits.tiers].sort())
      expect(told.counts).toEqual(await counts(client()))
      expect(await client().call('memory/consolidate')).toMatchObject({ moved: 0, dropped: 0 })
    })

    const { spill } = traits
    test.skipIf(spill === undefined || traits.owners === undefined)(
      `spills the oldest over capacity, groups whole ${meets('3.4/moved-together', '3.4/together')}`,
      async () => {
        if (spill === undefined) return
        const { tier, capacity, into } = spill
        const where = marked(mark())
        const group = `g-${where.mark}`
        const records = Array.from({ length: capacity + 2 }, (_, n) => ({
          content: `${n}`,
          tier,
          metadata: where,
          ...(n >= 1 && n <= 3 ? { group } : {}),
        }))
        const carl = client('carl')
        await carl.call('memory/remember', { records })
        const told = await carl.call('memory/consolidate')
        expect(told).toMatchObject({ dropped: 0, summarized: 0 })
        expect(told.counts[tier]).toBeLessThanOrEqual(capacity)
        const found = await carl.call('memory/timeline', { where, limit: 0 })
        expect(found.records).toHaveLength(capacity + 2)
        const spilt = found.records.filter((record) => record.tier === into)
        expect(spilt).toHaveLength(told.moved)
        const groupTiers = found.records.filter((record) => record.group === group)
        expect(new Set(groupTiers.map((record) => record.tier)).size).toBe(1)
        expect(found.records.at(-1)?.tier).toBe(tier)
      },
    )
  })
}
