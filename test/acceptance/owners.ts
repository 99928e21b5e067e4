import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

async function write(client: Client, entries: readonly object[], where: object): Promise<string[]> {
  const records = entries.map((entry) => ({ ...entry, metadata: where }))
  return (await client.call('memory/remember', { records })).ids
}

async function contents(client: Client, where: object): Promise<string[]> {
  const { records } = await client.call('memory/timeline', { where, limit: 0 })
  return records.map(({ content }) => content)
}

/** The scopes capability (§6): two owners who share nothing. */
export function describeOwners(bench: Bench): void {
  const { traits, client, mark } = bench
  const [first, second] = traits.tiers

  describe('owners', () => {
    test(`see their own records and no others, whatever they ask ${meets('6/principal')}`, async () => {
      const where = marked(mark())
      const [annas = ''] = await write(client('anna'), [{ content: 'secret of anna' }], where)
      await write(client('ben'), [{ content: 'secret of ben' }], where)
      for (const params of [
        { where },
        { where, query: 'secret anna', limit: 0 },
        { where, tier: first },
        { where: { id: annas } },
        { where: { ...where, role: null } },
        { limit: 0 },
      ]) {
        for (const method of ['memory/recall', 'memory/timeline'] as const) {
          const { records } = await client('ben').call(method, params)
          expect(records.map(({ content }) => content)).not.toContain('secret of anna')
          expect(records.every(({ owner }) => owner === 'ben')).toBe(true)
        }
      }
      expect(await contents(client('anna'), where)).toEqual(['secret of anna'])
    })

    test('can take nothing from each other', async () => {
      const where = marked(mark())
      const ids = await write(client('anna'), [{ content: 'kept', group: where.mark }], where)
      const ben = client('ben')
      for (const params of [
        { ids },
        { where },
        { where: { id: ids } },
        { query: 'kept', where },
        { ids, tier: first },
      ]) {
        expect(await ben.call('memory/forget', params)).toEqual({ forgotten: 0 })
      }
      expect(await ben.call('memory/promote', { ids, tier: second })).toEqual({ promoted: 0 })
      await ben.call('memory/consolidate')
      const { records } = await client('anna').call('memory/timeline', { where })
      expect(records).toMatchObject([{ id: ids[0], content: 'kept', tier: first }])
    })

    test('may use one id and one group each for themselves', async () => {
      const where = marked(mark())
      const entry = { id: where.mark, group: `g-${where.mark}` }
      const written = await write(client('anna'), [{ ...entry, content: 'of anna' }], where)
      const code = await client('ben').code('memory/remember', {
        records: [{ ...entry, content: 'of ben', metadata: where }],
      })
      expect([undefined, -32005]).toContain(code)
      expect(written).toEqual([where.mark])
      expect(await contents(client('anna'), where)).toEqual(['of anna'])
      if (code !== undefined) return
      expect(await contents(client('ben'), where)).toEqual(['of ben'])
      const moved = await client('ben').call('memory/promote', { ids: [where.mark], tier: second })
      expect(moved).toEqual({ promoted: 1 })
      const { records } = await client('anna').call('memory/timeline', { where })
      expect(records.map(({ tier }) => tier)).toEqual([first])
      expect(await client('ben').call('memory/forget', { where })).toEqual({ forgotten: 1 })
      expect(await contents(client('anna'), where)).toEqual(['of anna'])
    })

    test('are told their own counts', async () => {
      const count = async (owner: 'anna' | 'ben') =>
        (await client(owner).call('memory/describe')).tiers?.map((tier) => tier.count)
      const bens = await count('ben')
      await write(client('anna'), [{ content: 'a' }, { content: 'b' }], marked(mark()))
      expect(await count('ben')).toEqual(bens)
      expect((await client('ben').call('memory/consolidate')).counts[first]).toBe(bens?.[0])
    })
  })

  describe.skipIf(traits.owners !== 'principal')('an owner that is not the caller’s', () => {
    test.each([
      ['memory/recall', { owner: 'ben' }],
      ['memory/timeline', { owner: 'ben' }],
      ['memory/forget', { owner: 'ben', query: 'x' }],
      ['memory/describe', { owner: 'ben' }],
      ['memory/remember', { owner: 'ben', records: [{ content: 'x' }] }],
      ['memory/remember', { records: [{ content: 'x' }, { content: 'x', owner: 'ben' }] }],
      ['memory/recall', { where: { owner: 'ben' } }],
      ['memory/timeline', { where: { owner: ['anna', 'ben'] } }],
      ['memory/forget', { where: { owner: 'ben' } }],
    ])(`is refused: %s %j ${meets('6/disagreeing', '7/scope-denied')}`, async (method, params) => {
      expect(await client('anna').code(method, params)).toBe(-32005)
    })

    test('cannot be had by what gateways say to each other', async () => {
      const where = marked(mark())
      const ids = await write(client('ben'), [{ content: 'of ben' }], where)
      for (const extension of [{ owner: 'ben' }, { owner: null }, 5, { carried: [{}] }]) {
        const smuggled = { 'a2m-gateway': extension }
        const anna = client('anna')
        const moved = await anna.call('memory/promote', { ids, tier: second, ...smuggled })
        expect(moved).toEqual({ promoted: 0 })
        expect((await anna.call('memory/recall', { where, ...smuggled })).records).toEqual([])
        expect(await anna.call('memory/forget', { ids, ...smuggled })).toEqual({ forgotten: 0 })
        await anna.call('memory/consolidate', smuggled)
      }
      const old = { carried: [{ created_at: '2001-01-01T00:00:00.000Z' }] }
      const records = [{ content: 'backdated', metadata: where }]
      await client('anna').call('memory/remember', { records, 'a2m-gateway': old })
      const { records: found } = await client('anna').call('memory/timeline', { where })
      expect(found[0]?.created_at.startsWith('2001')).toBe(false)
    })
  })
}
