import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
  type Upstreams,
} from '../../support/federation.js'
import { anyContext } from '../../support/federation-contexts.js'
import { PlainMemory, type PlainOptions } from '../../support/plain-memory.js'

let fixture: TestFederation | undefined
const folder = temporaryFolder()
afterEach(async () => {
  await fixture?.close()
  folder.remove()
})

async function over(upstreams: Upstreams): Promise<TestFederation['federation']> {
  const tiers = Object.keys(upstreams).map((name) => tierConfig(name, name))
  fixture = await openFederation({ upstreams, tiers })
  return fixture.federation
}

function plain(records: readonly Partial<MemoryRecord>[], options: PlainOptions = {}): PlainMemory {
  const memory = new PlainMemory(options)
  for (const [index, record] of records.entries()) {
    const created_at = `2026-01-01T00:00:${String(index).padStart(2, '0')}.000Z`
    memory.records.push({ id: `${index}`, content: 'apple', created_at, ...record })
  }
  return memory
}

test('an id that would be read as another record is shown so that it is not, and forgotten as itself', async () => {
  const memory = plain([{ id: 'x' }, { id: 'a:x' }, { id: 'b:x' }])
  const federation = await over({
    a: { memory },
    b: { memory: plain([{ id: 'x', content: 'pear' }]) },
  })
  const ids = async () => {
    const { records } = await federation.call('memory/timeline', {}, anyContext())
    return records.map(({ id }) => id)
  }
  expect((await ids()).toSorted()).toEqual(['a:a:x', 'a:b:x', 'a:x', 'b:x'])
  expect(await federation.call('memory/forget', { ids: ['a:a:x'] }, anyContext())).toMatchObject({
    forgotten: 1,
  })
  expect(memory.records.map(({ id }) => id)).toEqual(['x', 'b:x'])
})

test('a lone store takes no id that names it, be it new or like one that it has', async () => {
  const memory = embeddedStore({ path: join(folder.path, 'a.db'), tiers: ['a'] })
  const federation = await over({ a: { memory } })
  const remember = (id: string) =>
    federation.call('memory/remember', { records: [{ id, content: 'text' }] }, anyContext())
  await expect(remember('a:x')).rejects.toMatchObject({ code: -32602 })
  expect(await remember('x')).toEqual({ ids: ['x'] })
  await expect(remember('a:x')).rejects.toMatchObject({ code: -32602 })
  const { records } = await federation.call('memory/timeline', {}, anyContext())
  expect(records.map(({ id }) => id)).toEqual(['x'])
})

test.each([
  ['one upstream', []],
  ['several', ['b', 'c']],
])('of %s, a test that cannot be passed on is made before anything is cut', async (_, others) => {
  const wanted = '2026-01-01T00:00:29Z'
  const upstreams: Upstreams = Object.fromEntries([
    ['a', { memory: plain(Array.from({ length: 40 }, () => ({}))) }],
    ...others.map((name) => [name, { memory: plain([]) }] as const),
  ])
  const federation = await over(upstreams)
  const where = { created_at: wanted }
  const params = { query: 'apple', where, limit: 3 }
  const recalled = await federation.call('memory/recall', params, anyContext())
  expect(recalled.records.map(({ id }) => id)).toEqual(['29'])
  const told = await federation.call('memory/timeline', { where, limit: 3 }, anyContext())
  expect(told.records.map(({ id }) => id)).toEqual(['29'])
  expect(fixture?.blamed).toEqual([])
})
