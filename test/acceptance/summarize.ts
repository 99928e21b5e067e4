import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, marked } from './subject.js'

const FACTS = [
  'The deploy key rotates every ninety days.',
  'The vault of the platform team holds the deploy key.',
  'Berlin hosts the summer meeting of the platform team.',
]

/** The summarize capability (§4.15). */
export function describeSummaries({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers
  const timeline = async (where: object) =>
    (await client().call('memory/timeline', { where, limit: 0 })).records
  const facts = async (contents: readonly string[] = FACTS) => {
    const where = marked(mark())
    const records = contents.map((content) => ({ content, metadata: where }))
    const { ids } = await client().call('memory/remember', { records })
    return { where, ids }
  }

  describe('summarize', () => {
    test(`tells by what it is made ${meets('4.15/described')}`, async () => {
      const { summarize } = await client().call('memory/describe')
      expect(summarize).toEqual({ model: null })
    })

    test(`writes one record of what was selected, and leaves the sources ${meets('4.15/sources')}`, async () => {
      const { where, ids } = await facts()
      const before = await timeline(where)
      const told = await client().call('memory/summarize', { where, into: second })
      expect(told).toMatchObject({ read: 3, written: 1 })
      const [summary] = told.records
      expect(summary).toMatchObject({ role: 'memory', tier: second })
      expect(summary?.content.split('\n').sort()).toEqual([...FACTS].sort())
      expect(summary?.metadata?.value()).toMatchObject({
        a2m_summary: { of: expect.arrayContaining(ids) },
      })
      expect(await timeline(where)).toEqual(before)
      expect(await timeline({ id: summary?.id })).toEqual(told.records)
    })

    test('makes ordinary records: recalled, moved, forgotten', async () => {
      const { where } = await facts()
      const { records } = await client().call('memory/summarize', { where })
      const id = records[0]?.id ?? ''
      expect(records[0]?.tier).toBe(first)
      const found = { query: 'vault deploy key', where: { id } }
      expect((await client().call('memory/recall', found)).records).toMatchObject([{ id }])
      const moved = { ids: [id], tier: second }
      expect(await client().call('memory/promote', moved)).toEqual({ promoted: 1 })
      expect(await client().call('memory/forget', { ids: [id] })).toEqual({ forgotten: 1 })
      expect(await timeline(where)).toHaveLength(3)
    })

    test.skipIf(!traits.capabilities.includes('keys'))(
      `keeps a page under its key ${meets('4.15/key')}`,
      async () => {
        const { where } = await facts()
        const key = `pages/${where.mark}`
        const page = await client().call('memory/summarize', { where, key })
        expect(page.records).toMatchObject([{ key, revision: 0 }])
        const more = { content: 'The heron of the river stands at dawn.', metadata: where }
        await client().call('memory/remember', { records: [more] })
        const next = await client().call('memory/summarize', { where, key })
        expect(next.records).toMatchObject([{ id: page.records[0]?.id, key, revision: 1 }])
        const { record } = await client().call('memory/fetch', { key })
        expect(record?.content).toContain(more.content)
      },
    )

    test('takes what all selectors name together', async () => {
      const { where, ids } = await facts()
      const summarize = (params: object) => client().call('memory/summarize', params)
      expect((await summarize({ ids: ids.slice(0, 2), where })).read).toBe(2)
      expect((await summarize({ ids, where: marked(mark()) })).read).toBe(0)
      expect((await summarize({ where, tier: second })).read).toBe(0)
      expect((await summarize({ query: 'Berlin', where })).read).toBeGreaterThan(0)
      expect((await summarize({ where, limit: 2 })).read).toBe(2)
      expect((await summarize({ where, limit: 0 })).read).toBe(3)
    })

    test(`declines where there is nothing durable to say ${meets('4.15/declined')}`, async () => {
      const { where } = await facts(['Hello!', 'ok, thanks', 'Where is it?'])
      const nothing = { records: [], read: 3, written: 0 }
      expect(await client().call('memory/summarize', { where })).toEqual(nothing)
      expect(await timeline(where)).toHaveLength(3)
    })

    test.each([
      {},
      { limit: 5 },
      { into: 'semantic', key: 'k' },
      { ids: [], query: ' ', tier: '', where: {}, key_prefix: '' },
      { ids: null, query: null, tier: null, where: null },
      { query: 'x', limit: -1 },
      { query: 'x', limit: 1.5 },
      { query: 'x', limit: '10' },
      { query: 'x', limit: 10_001 },
      { query: 'x', limit: 1e9 },
      { query: 5 },
      { ids: 'a' },
      { query: 'x', into: 5 },
      { query: 'x', into: '' },
    ])(`%j is refused ${meets('4.15/selector')}`, async (params) => {
      expect(await client().code('memory/summarize', params)).toBe(-32602)
    })

    test(`into or of a tier that does not exist is -32002, and nothing is written ${meets('7/unknown-tier')}`, async () => {
      const { where } = await facts()
      const summarize = (params: object) => client().code('memory/summarize', params)
      expect(await summarize({ where, into: 'no such tier' })).toBe(-32002)
      expect(await summarize({ where, tier: 'no such tier' })).toBe(-32002)
      expect(await timeline(where)).toHaveLength(3)
    })

    test.skipIf(traits.owners === undefined)('is of the caller’s records alone', async () => {
      const { where } = await facts()
      const metadata = where
      const records = [{ content: 'Ben keeps a secret garden behind the house.', metadata }]
      await client('ben').call('memory/remember', { records })
      const told = await client().call('memory/summarize', { where })
      expect(told).toMatchObject({ read: 3, records: [{ owner: 'anna' }] })
      expect(told.records[0]?.content).not.toContain('garden')
      const { records: seen } = await client('ben').call('memory/timeline', {
        where: { id: told.records[0]?.id },
      })
      expect(seen).toEqual([])
    })
  })
}
