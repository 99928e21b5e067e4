import { afterEach, describe, expect, test } from 'vitest'
import type { TestFederation } from '../../support/federation.js'
import { anyContext } from '../../support/federation-contexts.js'
import { caller, overTiers } from '../../support/keyed.js'
import { VectorMemory } from '../../support/vector-memory.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

const DECLARED = ['core', 'scopes', 'sessions', 'keys', 'embeddings', 'external']
const ELSEWHERE = {
  kind: 'http',
  url: 'http://127.0.0.1/',
  bearer: undefined,
  connections: 1,
} as const

function wrapped(drops: readonly string[]) {
  const memory = new VectorMemory({ capabilities: DECLARED, drops })
  return { memory, plain: memory.plain }
}

/** A store of others, as it says able to keep everything. */
async function store(drops: readonly string[]) {
  const { plain: memory, ...rest } = wrapped(drops)
  fixture = await overTiers({ a: { memory: rest.memory, config: { connect: ELSEWHERE } } })
  const { federation, blamed } = fixture
  const describe = () => federation.call('memory/describe', {}, anyContext())
  return { memory, blamed, describe, ...caller(fixture) }
}

const ENTRY = {
  content: 'x',
  session: 'tea',
  uri: 'file:///a',
  media_type: 'text/plain',
}

describe('an upstream that drops what it declares to keep', () => {
  test.each([
    ['sessions', 'session'],
    ['external', 'uri'],
    ['external', 'media_type'],
    ['keys', 'key'],
  ])(
    '%s: %s is found out at the first record, and the record is whole',
    async (capability, field) => {
      const { remember, timeline, blamed, describe, memory } = await store([field])
      const before = await describe()
      expect(before.capabilities).toContain(capability)
      const entry = { ...ENTRY, ...(field === 'key' ? { key: 'k' } : {}) }
      const [id] = await remember(entry)
      expect(await timeline()).toMatchObject([{ id, ...entry }])
      expect(memory.records).toHaveLength(1)
      expect(blamed).toEqual([['a', 'untrue_capability', 1]])
      const after = await describe()
      expect(after.capabilities).not.toContain(capability)
      expect(after.federation?.withheld[capability]).toEqual([
        `a: declares ${capability} and does not keep what it brings`,
      ])
      await remember(ENTRY)
      expect(blamed).toHaveLength(1)
    },
  )

  test('a vector that it dropped stays with the record, to the bit, though none is promised any more', async () => {
    const { remember, memory, describe } = await store(['embedding'])
    const [id] = await remember({ content: 'x', embedding: [0.5, -0, 1] })
    expect(memory.records).toMatchObject([{ id }])
    expect(memory.records[0]?.metadata?.text).toContain('"embedding":[0.5,-0,1]')
    expect((await describe()).capabilities).not.toContain('embeddings')
  })

  test('a key that it dropped is found, rewritten and fetched all the same', async () => {
    const { remember, memory, timeline } = await store(['key'])
    await remember({ key: 'k', content: 'x' })
    expect((await timeline({ where: { key: 'k' } })).map(({ content }) => content)).toEqual(['x'])
    expect(memory.records.map(({ key }) => key)).toEqual([undefined])
  })
})

test('one that keeps its word is read back once for each capability', async () => {
  const { remember, memory, blamed } = await store([])
  const reads = () =>
    memory.asked.filter(({ method }) => method === 'memory/timeline' || method === 'memory/recall')
  await remember({ ...ENTRY, key: 'k' })
  const first = reads().length
  await remember(ENTRY)
  await remember(ENTRY)
  expect(reads()).toHaveLength(first)
  expect(blamed).toEqual([])
})
