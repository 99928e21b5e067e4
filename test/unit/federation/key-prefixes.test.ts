import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import {
  embeddedStore,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { caller, errorOf, keyedMemory, overTiers } from '../../support/keyed.js'
import { PlainMemory } from '../../support/plain-memory.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

const KEYS = ['wf', 'wf/1', 'wf/1/', 'wf/1/x', 'wf/1/x/y', 'wf/10', 'wf/10/x', 'wf/1-x', 'WF/1']

/** The sets that prefixes cover, of KEYS. */
const COVERED: [prefix: string, keys: string[]][] = [
  ['wf/1', ['wf/1', 'wf/1/', 'wf/1/x', 'wf/1/x/y']],
  ['wf/1/', ['wf/1', 'wf/1/', 'wf/1/x', 'wf/1/x/y']],
  ['wf/1/x', ['wf/1/x', 'wf/1/x/y']],
  ['wf/', KEYS.filter((key) => key.startsWith('wf'))],
  ['w', []],
  ['/', []],
  ['wf//', []],
  ['%', []],
  ['wf/_', []],
]

const keysOf = (records: readonly MemoryRecord[]) => records.map(({ key }) => key).toSorted()

describe.each([
  ['stores that take prefixes as paths', []],
  ['stores that match them by characters', ['prefix-by-characters'] as const],
])('over %s', (_, faults) => {
  async function filled() {
    const memories = { a: keyedMemory({ faults }), b: keyedMemory({ faults }) }
    fixture = await overTiers({ a: { memory: memories.a }, b: { memory: memories.b } })
    const actions = caller(fixture)
    const entries = KEYS.map((key, index) => ({ key, content: key, tier: 'ab'[index % 2] }))
    await actions.remember(...entries, { content: 'without a key' })
    return actions
  }

  test.each(COVERED)('%s is a path for recall, timeline and forget', async (key_prefix, keys) => {
    const { recall, timeline, forget } = await filled()
    const expected = keys.toSorted()
    expect(keysOf(await recall({ key_prefix, limit: 0 }))).toEqual(expected)
    expect(keysOf(await timeline({ key_prefix }))).toEqual(expected)
    expect(await forget({ key_prefix })).toBe(keys.length)
    expect(await timeline()).toHaveLength(KEYS.length + 1 - keys.length)
  })

  test('a limit cuts what is beneath the prefix, and nothing before it', async () => {
    const { remember, recall, timeline } = await filled()
    for (let n = 0; n < 30; n++) await remember({ key: `wf/1${n}`, content: 'wf wf wf' })
    expect(await recall({ key_prefix: 'wf/1', limit: 3, query: 'wf' })).toHaveLength(3)
    expect(await recall({ key_prefix: 'wf/1/x', limit: 2, query: 'wf' })).toHaveLength(2)
    expect(keysOf(await timeline({ key_prefix: 'wf/1/x', limit: 2 }))).toEqual([
      'wf/1/x',
      'wf/1/x/y',
    ])
  })

  test('an empty prefix is an absent one', async () => {
    const { recall, timeline, forget } = await filled()
    expect(await timeline({ key_prefix: '' })).toHaveLength(KEYS.length + 1)
    expect(await recall({ key_prefix: '', limit: 0 })).toHaveLength(KEYS.length + 1)
    expect(await errorOf(forget({ key_prefix: '' }))).toMatchObject({ code: -32602 })
  })

  test('it is joined with the other selectors by AND', async () => {
    const { timeline, forget } = await filled()
    const [first] = await timeline({ where: { key: 'wf/1' } })
    const ids = [first?.id ?? '', 'nowhere']
    expect(keysOf(await timeline({ key_prefix: 'wf/1', tier: 'b' }))).toEqual(['wf/1', 'wf/1/x'])
    expect(await forget({ key_prefix: 'wf/10', ids })).toBe(0)
    expect(await forget({ key_prefix: 'wf/1', ids })).toBe(1)
    expect(await forget({ key_prefix: 'wf/1', query: 'wf', where: { key: 'wf/1/x' } })).toBe(1)
    expect(await forget({ key_prefix: 'wf', tier: 'a' })).toBe(4)
  })
})

test('built-in stores are told the limit with the prefix, since they take it as a path', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const store = embeddedStore({ path: join(folder.path, 'a.db'), tiers: ['a'] })
  fixture = await overTiers({ a: { memory: store }, b: { memory: keyedMemory() } })
  const { remember, recall, timeline } = caller(fixture)
  await remember(...KEYS.map((key) => ({ key, content: key, tier: 'a' })))
  expect(keysOf(await timeline({ key_prefix: 'wf/1' }))).toEqual(COVERED[0]?.[1].toSorted())
  expect(await recall({ key_prefix: 'wf/1/', limit: 2 })).toHaveLength(2)
})

test('a key in where is tested here, whatever a store without keys makes of the name', async () => {
  const archive = new PlainMemory({ readOnly: true, capabilities: ['core', 'scopes'] })
  const at = { created_at: '2026-01-01T00:00:00.000Z' }
  archive.records.push({ ...at, id: '1', content: 'x', key: 'k' }, { ...at, id: '2', content: 'y' })
  fixture = await overTiers(
    { a: { memory: keyedMemory() }, archive: { memory: archive, config: { ids: 'own' } } },
    { tiers: [tierConfig('a', 'a', { also: ['archive'] })] },
  )
  const { remember, timeline } = caller(fixture)
  const [id] = await remember({ key: 'k', content: 'mine' })
  expect((await timeline({ where: { key: ['k', 'l'] } })).map((record) => record.id)).toContain(id)
  expect((await timeline({ where: { key: null } })).map((record) => record.id)).toEqual(['2'])
})
