import { describe, expect, test, vi } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

async function write(client: Client, entries: readonly object[], where: object): Promise<string[]> {
  const records = entries.map((entry) => ({ content: 'x', ...entry, metadata: where }))
  return (await client.call('memory/remember', { records })).ids
}

async function recordsOf(client: Client, where: object) {
  return (await client.call('memory/timeline', { where, limit: 0 })).records
}

async function saliences(client: Client, where: object): Promise<(number | undefined)[]> {
  return (await recordsOf(client, where)).map(({ salience }) => salience)
}

/** Use may be counted after the answer has gone out. */
function soon(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000, interval: 20 })
}

/** The salience capability (§4.8). */
export function describeSalience(bench: Bench): void {
  const { traits, client, mark } = bench
  const [first, second] = traits.tiers

  describe('salience', () => {
    test('is 1 unless it is written', async () => {
      const where = marked(mark())
      await write(client(), [{ salience: 2.5 }], where)
      expect(await saliences(client(), where)).toEqual([2.5])
      const usual = marked(mark())
      await write(client(), [{}], usual)
      expect(await recordsOf(client(), usual)).toMatchObject([{ salience: 1, access_count: 0 }])
      const found = await recordsOf(client(), { ...usual, salience: 1, accessed_at: null })
      expect(found).toHaveLength(1)
    })

    test(`is raised once for each record that is named, in every tier ${meets('7/unknown-record')}`, async () => {
      const where = marked(mark())
      const ids = [
        ...(await write(client(), [{ tier: first }], where)),
        ...(await write(client(), [{ tier: second }], where)),
      ]
      await write(client(), [{ content: 'not named' }], { ...where, not: true })
      const twice = [...ids, ...ids, 'no such id']
      expect(await client().call('memory/reinforce', { ids: twice })).toEqual({ reinforced: 2 })
      expect((await saliences(client(), where)).toSorted()).toEqual([1, 2, 2])
      const raise = { ids, amount: 0.25 }
      expect(await client().call('memory/reinforce', raise)).toEqual({ reinforced: 2 })
      expect((await saliences(client(), where)).toSorted()).toEqual([1, 2.25, 2.25])
      expect(await client().call('memory/reinforce', { ids: [] })).toEqual({ reinforced: 0 })
    })

    test('does not fall below 0', async () => {
      const where = marked(mark())
      const ids = await write(client(), [{ salience: 2 }], where)
      await client().call('memory/reinforce', { ids, amount: -1.5 })
      expect(await saliences(client(), where)).toEqual([0.5])
      await client().call('memory/reinforce', { ids, amount: -7 })
      expect(await saliences(client(), where)).toEqual([0])
    })

    test.each([
      [{}],
      [{ ids: null }],
      [{ ids: 'a' }],
      [{ ids: [5] }],
      [{ ids: [''] }],
      [{ ids: ['a'], amount: '1' }],
      [{ ids: ['a'], amount: [] }],
    ])(`reinforce of %j is refused ${meets('4.8/required')}`, async (params) => {
      expect(await client().code('memory/reinforce', params)).toBe(-32602)
    })

    test.each([['1'], [[]], [{}], [true]])('the salience %j is refused', async (salience) => {
      const records = [{ content: 'x', salience }]
      expect(await client().code('memory/remember', { records })).toBe(-32602)
    })

    test('is added to on arrival in another tier, and kept by the way', async () => {
      const where = marked(mark())
      const ids = await write(client(), [{ salience: 3, tier: first }], where)
      await client().call('memory/promote', { ids, tier: second, salience: 0.5 })
      expect(await recordsOf(client(), where)).toMatchObject([{ tier: second, salience: 3.5 }])
      await client().call('memory/promote', { ids, tier: second, salience: 0.5 })
      expect(await saliences(client(), where)).toEqual([3.5])
    })

    test.skipIf(traits.owners === undefined)('of other owners is out of reach', async () => {
      const where = marked(mark())
      const ids = await write(client('anna'), [{}], where)
      expect(await client('ben').call('memory/reinforce', { ids })).toEqual({ reinforced: 0 })
      expect(await saliences(client('anna'), where)).toEqual([1])
    })
  })

  describeUse(bench)
}

function describeUse({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers

  describe('use', () => {
    test.skipIf(traits.use === 'as given')(
      'is counted of what a recall gives out, once, and of nothing else',
      async () => {
        const where = marked(mark())
        const entries = Array.from({ length: 12 }, (_, n) => ({
          content: `heron ${n}`,
          tier: n % 2 === 0 ? first : second,
        }))
        await write(client(), entries, where)
        const given = await client().call('memory/recall', { query: 'heron', where, limit: 3 })
        const ids = given.records.map(({ id }) => id)
        expect(ids).toHaveLength(3)
        await soon(async () => {
          const used = (await recordsOf(client(), where)).filter((one) => one.access_count !== 0)
          expect(used.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
          for (const one of used) {
            expect(one).toMatchObject({ access_count: 1, salience: 1 })
            expect(Date.parse(one.accessed_at ?? '')).toBeGreaterThanOrEqual(
              Date.parse(one.created_at),
            )
          }
        })
      },
    )

    test.skipIf(!traits.capabilities.includes('keys'))(
      'is counted of what is fetched',
      async () => {
        const [key, where] = [mark(), marked(mark())]
        await write(client(), [{ key }], where)
        for (let times = 0; times < 3; times++) await client().call('memory/fetch', { key })
        await soon(async () => {
          expect(await recordsOf(client(), where)).toMatchObject([{ access_count: 3 }])
        })
      },
    )

    test('goes along when a record moves', async () => {
      const where = marked(mark())
      const ids = await write(client(), [{ content: 'egret', tier: first }], where)
      await client().call('memory/recall', { query: 'egret', where })
      await soon(async () => {
        expect(await recordsOf(client(), where)).toMatchObject([{ access_count: 1 }])
      })
      const [before] = await recordsOf(client(), where)
      await client().call('memory/promote', { ids, tier: second })
      expect(await recordsOf(client(), where)).toEqual([{ ...before, tier: second }])
    })
  })
}
