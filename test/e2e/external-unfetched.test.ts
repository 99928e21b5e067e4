import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type ConfigFile, type Gateway, startGateway } from '../support/gateway-under-test.js'

/** Something that listens, and how many have come. */
interface Target {
  readonly url: string
  readonly visits: () => number
}

async function listen(): Promise<Target> {
  let visits = 0
  const server = createServer((socket) => {
    visits++
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, visits: () => visits }
}

const WORKING = { kind: 'working', upstream: 'a', capacity: 2, spill_to: 'semantic' }
const CONFIG: ConfigFile = {
  upstreams: { a: { store: 'sqlite', path: 'a.db' }, b: { store: 'sqlite', path: 'b.db' } },
  tiers: { working: WORKING, semantic: { kind: 'semantic', upstream: 'b' } },
}

test('what a record points at is never opened, whatever is done with the record', async () => {
  const target = await listen()
  const gateway = await startGateway(CONFIG)
  const uri = `${target.url}/a%20b?c#d`
  const picture = { uri, media_type: 'image/png', session: 's', embedding: [1, 0], key: 'k' }
  const records = [
    { ...picture, metadata: { album: 'may', thumbnail: `${target.url}/thumbnail` } },
    { content: `See ${target.url}/page for the plan of may.`, uri, session: 's' },
    { content: 'The plan of may is in the wiki.', uri: `//127.0.0.1:${target.url.slice(17)}/x` },
  ]
  const { ids } = await gateway.call('memory/remember', { records })
  await found(gateway, { id: ids[0] ?? '', uri })
  await gateway.call('memory/reinforce', { ids })
  await gateway.call('memory/promote', { ids: ids.slice(2), tier: 'semantic' })
  await gateway.call('memory/consolidate')
  await gateway.call('memory/session/close', { session: 's' })
  await gateway.call('memory/summarize', { where: {}, query: 'plan', into: 'semantic' })
  const prompt = { cite: true, style: 'facts' }
  const told = await gateway.call('memory/recall', { query: 'plan', prompt })
  expect(told.prompt).toContain(uri)
  await gateway.call('memory/timeline', { prompt: true })
  await found(gateway, { id: ids[0] ?? '', uri })
  await gateway.call('memory/forget', { ids })
  expect(target.visits()).toBe(0)
  await expect(fetch(uri)).rejects.toThrow()
  expect(target.visits()).toBe(1)
})

/** By its vector, its key and its metadata, as it was written; by words there is nothing to find. */
async function found(
  gateway: Gateway,
  { id, uri }: { readonly id: string; readonly uri: string },
): Promise<void> {
  const wanted = { id, uri, media_type: 'image/png', content: '' }
  const near = await gateway.call('memory/recall', { embedding: [1, 0.1] })
  expect(near.records[0]).toMatchObject(wanted)
  const { record } = await gateway.call('memory/fetch', { key: 'k' })
  expect(record).toMatchObject(wanted)
  const tagged = await gateway.call('memory/recall', { where: { album: 'may' } })
  expect(tagged.records).toMatchObject([wanted])
  const words = await gateway.call('memory/recall', { query: 'png' })
  expect(words.records.map((one) => one.id)).not.toContain(id)
}
