import { describe, expect, test } from 'vitest'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

async function say(
  client: Client,
  session: string | undefined,
  texts: readonly string[],
  more = {},
) {
  const ids: string[] = []
  for (const content of texts) {
    const records = [{ content, ...more }]
    ids.push(...(await client.call('memory/remember', { records, session })).ids)
  }
  return ids
}

async function replay(client: Client, where: object) {
  return (await client.call('memory/timeline', { where, limit: 0 })).records
}

/** Records of one instant may change places when one of them moves. */
function byId(left: MemoryRecord, right: MemoryRecord): number {
  return left.id < right.id ? -1 : 1
}

/** The sessions capability (§3.5, §4.10, §4.11). */
export function describeSessions(bench: Bench): void {
  const { client, mark } = bench

  describe('sessions', () => {
    test(`the session of an entry, or else of the call, comes back ${meets('3.5/kept')}`, async () => {
      const [a, b, where] = [mark(), mark(), marked(mark())]
      const records = [{ content: 'own', session: a }, { content: 'of the call' }]
      const batch = records.map((entry) => ({ ...entry, metadata: where }))
      await client().call('memory/remember', { records: batch, session: b })
      const found = (await replay(client(), where)).map((one) => [one.content, one.session])
      expect(new Map(found as [string, string][])).toEqual(
        new Map([
          ['own', a],
          ['of the call', b],
        ]),
      )
      const recalled = await client().call('memory/recall', { query: 'own', where })
      expect(recalled.records).toMatchObject([{ session: a }])
    })

    test(`one conversation is replayed in its order, alone ${meets('3.5/timeline-where', '4.4/where')}`, async () => {
      const [a, b] = [mark(), mark()]
      for (const n of ['1', '2', '3']) {
        await say(client(), a, [`a${n}`])
        await say(client(), b, [`b${n}`])
      }
      const texts = (await replay(client(), { session: a })).map(({ content }) => content)
      expect(texts.toSorted()).toEqual(['a1', 'a2', 'a3'])
      const last = await client().call('memory/timeline', { where: { session: b }, limit: 2 })
      expect(last.records).toHaveLength(2)
      const both = await replay(client(), { session: [a, b] })
      expect(both).toHaveLength(6)
    })

    test(`a record without a session is in none ${meets('3.5/no-session')}`, async () => {
      const [session, where] = [mark(), marked(mark())]
      await say(client(), session, ['in it'], { metadata: where })
      await say(client(), undefined, ['in none'], { metadata: where })
      const [bare] = await replay(client(), { ...where, session: null })
      expect(bare).toMatchObject({ content: 'in none' })
      expect(bare?.session).toBeUndefined()
      expect(await replay(client(), { session })).toMatchObject([{ content: 'in it' }])
      await client().call('memory/session/close', { session })
      const { sessions } = await client().call('memory/session/list')
      expect(sessions.map((one) => one.session)).not.toContain('')
      expect(sessions.every((one) => typeof one.session === 'string')).toBe(true)
    })

    test.each([[''], [5], [['a']], [{}]])(
      'the session %j is refused on a write',
      async (session) => {
        const records = [{ content: 'x' }]
        expect(await client().code('memory/remember', { records, session })).toBe(-32602)
        const entries = [{ content: 'x', session }]
        expect(await client().code('memory/remember', { records: entries })).toBe(-32602)
      },
    )

    test('a megabyte is a name like any other', async () => {
      const session = `${mark()}${'s'.repeat(1_000_000)}`
      await say(client(), session, ['x'])
      await say(client(), `${session}s`, ['y'])
      expect(await replay(client(), { session })).toMatchObject([{ content: 'x', session }])
      const listed = (await client().call('memory/session/list')).sessions
      expect(listed.filter((one) => one.session === session)).toMatchObject([{ records: 1 }])
      const closed = await client().call('memory/session/close', { session })
      expect(closed.closed === session).toBe(true)
      expect(await client().call('memory/forget', { where: { session } })).toEqual({ forgotten: 1 })
    })
  })

  describeList(bench)
  describeClose(bench)
}

function describeList({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers
  const entry = async (client: Client, session: string) =>
    (await client.call('memory/session/list')).sessions.filter((one) => one.session === session)

  describe('the list of sessions', () => {
    test(`tells each once, with its records ${meets('4.10/entries')}`, async () => {
      const session = mark()
      await say(client(), session, ['a', 'b'], { tier: first })
      await say(client(), session, ['c'], { tier: second })
      const records = await replay(client(), { session })
      const times = records.map((one) => one.created_at)
      expect(await entry(client(), session)).toEqual([
        {
          ...{ session, records: 3, tiers: { [first]: 2, [second]: 1 } },
          ...{ opened_at: times[0], touched_at: times.at(-1) },
        },
      ])
      await client().call('memory/forget', { where: { session } })
      expect(await entry(client(), session)).toEqual([])
    })

    test.skipIf(traits.owners === undefined)('tells an owner of that owner’s alone', async () => {
      const session = mark()
      await say(client('anna'), session, ['a', 'b'])
      await say(client('ben'), session, ['c'])
      expect(await entry(client('anna'), session)).toMatchObject([{ records: 2 }])
      expect(await entry(client('ben'), session)).toMatchObject([{ records: 1 }])
      expect(await entry(client('carl'), session)).toEqual([])
    })
  })
}

function describeClose({ traits, client, mark }: Bench): void {
  const [first] = traits.tiers
  const spill = traits.spill
  const tiersOf = async (owner: Client, session: string) =>
    (await replay(owner, { session })).map((one) => [one.content, one.tier])

  describe('closing a session', () => {
    test.skipIf(spill === undefined)(
      `takes it out of the working tier and destroys nothing ${meets('4.11/kept')}`,
      async () => {
        const { tier, into } = spill ?? { tier: '', into: '' }
        const [session, other, where] = [mark(), mark(), marked(mark())]
        await say(client(), session, ['a', 'b'], { tier, metadata: where })
        await say(client(), other, ['c'], { tier, metadata: where })
        await say(client(), undefined, ['d'], { tier, metadata: where })
        const before = await replay(client(), where)
        const closed = await client().call('memory/session/close', { session })
        expect(closed).toMatchObject({ closed: session, flushed: 2, dropped: 0 })
        expect(closed.moved).toBeGreaterThanOrEqual(2)
        expect(Object.keys(closed.counts).toSorted()).toEqual([...traits.tiers].sort())
        const moved = before.map((one) => (one.session === session ? { ...one, tier: into } : one))
        const after = await replay(client(), where)
        expect(after.toSorted(byId)).toEqual(moved.toSorted(byId))
        const again = await client().call('memory/session/close', { session })
        expect(again).toMatchObject({ closed: session, flushed: 0, moved: 0 })
      },
    )

    test.skipIf(spill === undefined)('takes groups whole and leaves procedures', async () => {
      const { tier, into } = spill ?? { tier: '', into: '' }
      const [session, where] = [mark(), marked(mark())]
      const group = `g-${where.mark}`
      await say(client(), session, ['call', 'result'], { tier, group, metadata: where })
      const others = traits.tiers.filter((one) => one !== tier && one !== into)
      for (const one of others) await say(client(), session, [`in ${one}`], { tier: one })
      await client().call('memory/session/close', { session })
      expect(new Map((await tiersOf(client(), session)) as [string, string][])).toEqual(
        new Map<string, string>([
          ['call', into],
          ['result', into],
          ...others.map((one) => [`in ${one}`, one] as const),
        ]),
      )
    })

    test(`that is not there does nothing and does not fail ${meets('4.11/unknown')}`, async () => {
      const session = mark()
      const closed = await client().call('memory/session/close', { session })
      expect(closed).toMatchObject({ closed: session, flushed: 0, moved: 0, dropped: 0 })
    })

    test.each([[{}], [{ session: '' }], [{ session: null }], [{ session: 5 }], [{ session: [] }]])(
      `without its name is refused: %j ${meets('4.11/required')}`,
      async (params) => {
        expect(await client().code('memory/session/close', params)).toBe(-32602)
      },
    )

    test.skipIf(traits.owners === undefined)('is of one owner', async () => {
      const session = mark()
      await say(client('anna'), session, ['of anna'], { tier: first })
      await say(client('ben'), session, ['of ben'], { tier: first })
      await client('ben').call('memory/session/close', { session })
      expect(await tiersOf(client('anna'), session)).toEqual([['of anna', first]])
    })
  })
}
