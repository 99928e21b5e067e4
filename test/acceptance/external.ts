import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

async function write(client: Client, entries: readonly object[], where: object): Promise<string[]> {
  const records = entries.map((entry) => ({ content: '', ...entry, metadata: where }))
  return (await client.call('memory/remember', { records })).ids
}

/** A port of this machine that counts who comes. */
async function watched() {
  let visits = 0
  const server = createServer((socket) => {
    visits++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not on a port')
  return {
    uri: `http://127.0.0.1:${address.port}/secret.png`,
    visits: () => visits,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

const REFERENCES: readonly (readonly [string, string])[] = [
  ['https://example.com/a%20b?q=1&r=ü#frag', 'image/png'],
  ['file:///etc/passwd', 'text/plain; charset="utf-8"'],
  ['../relative/path', 'model/gltf-binary'],
  ['urn:isbn:0451450523', ''],
  ['S3://Bucket/KEY with spaces', 'x'],
]

/** The external capability (§3.8). */
export function describeExternal({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers

  describe('records that point elsewhere', () => {
    test.each(REFERENCES)(
      `come back unchanged: %j, %j ${meets('3.8/unchanged')}`,
      async (uri, media_type) => {
        const where = marked(mark())
        const ids = await write(
          client(),
          [{ content: 'a title', uri, media_type, tier: first }],
          where,
        )
        const there = async () => (await client().call('memory/timeline', { where })).records
        expect(await there()).toMatchObject([{ uri, media_type, content: 'a title' }])
        const found = await client().call('memory/recall', {
          query: 'title',
          where: { ...where, uri },
        })
        expect(found.records).toMatchObject([{ uri, media_type }])
        await client().call('memory/promote', { ids, tier: second })
        expect(await there()).toMatchObject([{ uri, media_type, tier: second }])
      },
    )

    test(`need no content ${meets('3.8/empty-content')}`, async () => {
      const where = marked(mark())
      const [id] = await write(
        client(),
        [{ uri: 'file:///photo.jpg', media_type: 'image/jpeg' }],
        where,
      )
      for (const params of [{ where }, { where: { ...where, media_type: 'image/jpeg' } }]) {
        const { records } = await client().call('memory/recall', params)
        expect(records).toMatchObject([{ id, content: '', uri: 'file:///photo.jpg' }])
      }
    })

    test('are told from those that do not', async () => {
      const where = marked(mark())
      await write(client(), [{ content: 'plain' }], where)
      const { records } = await client().call('memory/timeline', { where: { ...where, uri: null } })
      expect(records).toMatchObject([{ content: 'plain' }])
      expect(records[0]).not.toHaveProperty('uri')
      expect(records[0]).not.toHaveProperty('media_type')
    })

    test.each([[{ uri: '' }], [{ uri: 5 }], [{ uri: ['a:b'] }], [{ uri: 'a:b', media_type: 5 }]])(
      '%j is refused',
      async (fields) => {
        const records = [{ content: 'x', ...fields }]
        expect(await client().code('memory/remember', { records })).toBe(-32602)
      },
    )

    test(`are never gone to ${meets('3.8/never-fetched')}`, async () => {
      const place = await watched()
      const where = marked(mark())
      const ids = await write(
        client(),
        [{ content: 'a title', uri: place.uri, tier: first }],
        where,
      )
      await client().call('memory/timeline', { where })
      await client().call('memory/recall', { query: 'title', where })
      await client().call('memory/recall', { query: place.uri, where })
      await client().call('memory/promote', { ids, tier: second })
      await client().call('memory/consolidate')
      expect((await client().call('memory/timeline', { where })).records).toHaveLength(1)
      await client().call('memory/forget', { ids })
      expect(place.visits()).toBe(0)
      await place.close()
    })
  })
}
