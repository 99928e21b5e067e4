import { expect, test } from 'vitest'
import { JsonText } from '../../../src/protocol/json.js'
import { contents, idsOf, OpenStore } from './open.js'

test.each([
  ['https://example.com/a%20b?x=1#y', 'image/png'],
  ['file:///etc/passwd', 'text/plain; charset="utf-8"'],
  ['../relative', ''],
  ['no uri at all', 'no/type'],
])('%s and %j come back unchanged, whatever they say', async (uri, media_type) => {
  const store = new OpenStore()
  await store.write({ key: 'k', content: 'a title', uri, media_type })
  const fields = { uri, media_type }
  expect((await store.timeline())[0]).toMatchObject(fields)
  expect((await store.recall('title'))[0]).toMatchObject(fields)
  expect((await store.call('memory/fetch', { key: 'k' })).record).toMatchObject(fields)
  expect(await store.timeline({ where: fields })).toHaveLength(1)
  await store.call('memory/promote', {
    ids: [...idsOf(await store.timeline())],
    tier: 'semantic',
  })
  expect((await store.timeline({ tier: 'semantic' }))[0]).toMatchObject(fields)
})

test('without content a record is found by key, metadata and vector, and by no words', async () => {
  const store = new OpenStore()
  const metadata = new JsonText('{"kind":"photo"}')
  const [id] = await store.write(
    { content: '', uri: 'a:b', key: 'photos/1', metadata, embedding: [1, 0] },
    { content: 'words', uri: 'c:d' },
  )
  expect((await store.call('memory/fetch', { key: 'photos/1' })).record).toMatchObject({
    ...{ id, content: '', uri: 'a:b' },
  })
  for (const params of [
    { where: { kind: 'photo' } },
    { key_prefix: 'photos' },
    { embedding: [1, 0] },
    { where: { uri: 'a:b' } },
  ]) {
    expect(idsOf(await store.recall(params))).toEqual([id])
  }
  expect(contents(await store.recall('words photo a b'))).toEqual(['words'])
})

test('a record without any of it has neither field', async () => {
  const store = new OpenStore()
  await store.write('')
  const [record] = await store.timeline({ where: { uri: null, media_type: null } })
  expect(record?.content).toBe('')
  expect(record).not.toHaveProperty('uri')
  expect(record).not.toHaveProperty('media_type')
})
