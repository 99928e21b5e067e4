import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

async function write(client: Client, ...records: readonly object[]): Promise<string[]> {
  return (await client.call('memory/remember', { records })).ids
}

async function at(client: Client, key: string) {
  return (await client.call('memory/fetch', { key })).record
}

const ODD = ['..', '../up', ' ', 'two words', '\u0000', 'nul\u0000nul', 'slash/', '//', '%', 'ключ']

/** The keys capability (§3.6, §4.9). */
export function describeKeys(bench: Bench): void {
  const { client, mark } = bench

  describe('keys', () => {
    test(`a write to an occupied key replaces what is there ${meets('3.6/replacement')}`, async () => {
      const [key, where] = [mark(), marked(mark())]
      const first = { key, content: 'Paris', role: 'user', metadata: { ...where, old: true } }
      const [id] = await write(client(), first)
      const before = await at(client(), key)
      expect(before).toMatchObject({ id, key, content: 'Paris', revision: 0 })
      for (const revision of [1, 2]) {
        const entry = { key, content: `v${revision}`, metadata: where }
        expect(await write(client(), entry)).toEqual([id])
        const now = await at(client(), key)
        expect(now).toMatchObject({ id, key, content: `v${revision}`, revision })
        expect(now?.created_at).toBe(before?.created_at)
        expect(now?.role).toBeUndefined()
      }
      const { records } = await client().call('memory/timeline', { where, limit: 0 })
      expect(records).toMatchObject([{ id, content: 'v2' }])
      const stale = await client().call('memory/recall', { query: 'Paris', where })
      expect(stale.records).toEqual([])
    })

    test('the same key twice in a batch is written in order', async () => {
      const key = mark()
      const ids = await write(client(), { key, content: 'first' }, { key, content: 'second' })
      expect(ids[0]).toBe(ids[1])
      expect(await at(client(), key)).toMatchObject({ content: 'second', revision: 1 })
    })

    test('fifty writers on one key leave one record, rewritten forty-nine times', async () => {
      const [key, where] = [mark(), marked(mark())]
      const writers = Array.from({ length: 50 }, (_, n) =>
        write(client(), { key, content: `writer ${n}`, metadata: where }),
      )
      const ids = new Set((await Promise.all(writers)).flat())
      expect(ids.size).toBe(1)
      expect(await at(client(), key)).toMatchObject({ id: [...ids][0], revision: 49 })
      const { records } = await client().call('memory/timeline', { where, limit: 0 })
      expect(records).toHaveLength(1)
    })

    test('an id that exists wins over a key', async () => {
      const [id, key] = [mark(), mark()]
      await write(client(), { id, content: 'plain' }, { key, content: 'keyed' })
      expect(await write(client(), { id, key, content: 'no' })).toEqual([id])
      expect(await at(client(), key)).toMatchObject({ content: 'keyed', revision: 0 })
    })

    test(`an unused key gives null ${meets('4.9/unused')}`, async () => {
      const key = mark()
      expect(await client().call('memory/fetch', { key })).toEqual({ record: null })
      await write(client(), { key, content: 'x' })
      expect(await at(client(), key)).toMatchObject({ content: 'x' })
      const [prefix] = key
      expect(await at(client(), prefix ?? '')).toBeNull()
      expect(await client().call('memory/forget', { key_prefix: key })).toEqual({ forgotten: 1 })
      expect(await at(client(), key)).toBeNull()
    })

    test.each([[{}], [{ key: '' }], [{ key: null }], [{ key: 5 }], [{ key: ['a'] }]])(
      `fetch of %j is refused ${meets('4.9/required')}`,
      async (params) => {
        expect(await client().code('memory/fetch', params)).toBe(-32602)
      },
    )

    test.each([[''], [5], [['a']], [{}]])('the key %j is refused on a write', async (key) => {
      const where = marked(mark())
      const records = [
        { content: 'good', metadata: where },
        { content: 'bad', key },
      ]
      expect(await client().code('memory/remember', { records })).toBe(-32602)
      const { records: left } = await client().call('memory/timeline', { where })
      expect(left).toEqual([])
    })

    test('any text is a key, to the letter', async () => {
      const own = mark()
      const keys = [...ODD, 'x'.repeat(10_000)].map((odd) => `${own}${odd}`)
      for (const key of keys) {
        const [id] = await write(client(), { key, content: 'x' })
        expect(await at(client(), key)).toMatchObject({ id, key, revision: 0 })
      }
      for (const key of keys) expect(await at(client(), key)).toMatchObject({ revision: 0 })
    })

    test('where tests the key and the revision, and null their absence', async () => {
      const [key, where] = [mark(), marked(mark())]
      await write(
        client(),
        { key, content: 'keyed', metadata: where },
        { content: 'plain', metadata: where },
      )
      const found = async (tests: object) => {
        const params = { where: { ...where, ...tests } }
        return (await client().call('memory/timeline', params)).records.map((one) => one.content)
      }
      expect(await found({ key })).toEqual(['keyed'])
      expect(await found({ key: [key, 'none'], revision: 0 })).toEqual(['keyed'])
      expect(await found({ key: null })).toEqual(['plain'])
    })
  })

  describePrefixes(bench)
  describeKeysOfTiers(bench)
  describeKeysOfOwners(bench)
}

function describePrefixes({ client, mark }: Bench): void {
  const tree = async () => {
    const root = mark()
    const keys = ['', '/1', '/1/x', '/1/x/y', '/10', '-1', '/1-a'].map((end) => `${root}${end}`)
    await write(client(), ...keys.map((key) => ({ key, content: `note at ${key}` })))
    await write(client(), { content: `note of ${root}, without a key` })
    return root
  }
  const CASES: readonly (readonly [string, readonly string[]])[] = [
    ['/1', ['/1', '/1/x', '/1/x/y']],
    ['/1/', ['/1', '/1/x', '/1/x/y']],
    ['', ['', '/1', '/1/x', '/1/x/y', '/10', '/1-a']],
    ['/1/x/y/z', []],
  ]

  describe('prefixes', () => {
    test.each(CASES)(
      `%j selects what is at or beneath it, everywhere ${meets('3.6/prefix')}`,
      async (prefix, ends) => {
        const root = await tree()
        const key_prefix = `${root}${prefix}`
        const expected = ends.map((end) => `${root}${end}`)
        const keysOf = (records: readonly { key?: string | undefined }[]) =>
          records.map(({ key }) => key ?? 'none').sort()
        for (const query of [undefined, 'note']) {
          const found = await client().call('memory/recall', { key_prefix, query, limit: 0 })
          expect(keysOf(found.records)).toEqual(expected.toSorted())
        }
        const listed = await client().call('memory/timeline', { key_prefix, limit: 0 })
        expect(keysOf(listed.records)).toEqual(expected.toSorted())
        const forgotten = await client().call('memory/forget', { key_prefix })
        expect(forgotten).toEqual({ forgotten: expected.length })
        const left = await client().call('memory/timeline', { key_prefix: root, limit: 0 })
        expect(left.records).toHaveLength(6 - expected.length)
      },
    )

    test('an empty one selects nothing out and deletes nothing', async () => {
      const root = await tree()
      const where = { key: `${root}/1` }
      const { records } = await client().call('memory/timeline', { where, key_prefix: '' })
      expect(records).toHaveLength(1)
      expect(await client().code('memory/forget', { key_prefix: '' })).toBe(-32602)
    })

    test.each([[5], [['a']], [{}]])('%j is refused', async (key_prefix) => {
      for (const method of ['memory/recall', 'memory/timeline', 'memory/forget']) {
        expect(await client().code(method, { key_prefix })).toBe(-32602)
      }
    })
  })
}

function describeKeysOfTiers({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers

  describe.skipIf(!traits.capabilities.includes('tiers'))('keys over tiers', () => {
    test('a key has one place: where it is, unless a write names another tier', async () => {
      const [key, where] = [mark(), marked(mark())]
      const [id] = await write(client(), { key, content: 'a', tier: second, metadata: where })
      await write(client(), { key, content: 'b', metadata: where })
      expect(await at(client(), key)).toMatchObject({ id, tier: second, revision: 1 })
      await write(client(), { key, content: 'c', tier: first, metadata: where })
      expect(await at(client(), key)).toMatchObject({ id, tier: first, revision: 2 })
      const { records } = await client().call('memory/timeline', { where })
      expect(records).toMatchObject([{ id, content: 'c' }])
    })

    test('no move takes a revision back', async () => {
      const key = mark()
      const [id = ''] = await write(client(), { key, content: 'a' }, { key, content: 'b' })
      const there = async () =>
        (await client().call('memory/timeline', { where: { key } })).records[0]
      const before = await there()
      expect(before).toMatchObject({ key, revision: 1 })
      await client().call('memory/promote', { ids: [id], tier: second })
      expect(await there()).toEqual({ ...before, tier: second })
      await write(client(), { key, content: 'c' })
      expect(await at(client(), key)).toMatchObject({ id, revision: 2, tier: second })
    })
  })
}

function describeKeysOfOwners({ traits, client, mark }: Bench): void {
  describe.skipIf(traits.owners === undefined)('keys of owners', () => {
    test(`two owners have a record each under one key ${meets('3.6/per-owner')}`, async () => {
      const key = mark()
      const [annas] = await write(client('anna'), { key, content: 'of anna' })
      const [bens] = await write(client('ben'), { key, content: 'of ben' })
      expect(annas).not.toBe(bens)
      expect(await at(client('anna'), key)).toMatchObject({ content: 'of anna', revision: 0 })
      expect(await at(client('ben'), key)).toMatchObject({ content: 'of ben', revision: 0 })
      expect(await at(client('carl'), key)).toBeNull()
      const params = { key_prefix: key }
      expect(await client('ben').call('memory/forget', params)).toEqual({ forgotten: 1 })
      expect(await at(client('anna'), key)).toMatchObject({ content: 'of anna' })
    })
  })
}
