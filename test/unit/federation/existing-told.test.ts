import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Memory } from '../../../src/protocol/memory.js'
import type { ParamsOf } from '../../../src/protocol/methods.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { anyContext } from '../../support/federation-contexts.js'
import { PlainMemory } from '../../support/plain-memory.js'

let fixture: TestFederation | undefined
const folder = temporaryFolder()
afterEach(async () => {
  await fixture?.close()
  folder.remove()
})

type Entries = ParamsOf<'memory/remember'>['records']

/** The places of entries that were not written, as each write tells them. */
async function toldBy(memory: Memory, writes: readonly Entries[]): Promise<readonly unknown[]> {
  const upstreams = { a: { memory } }
  fixture = await openFederation({ upstreams, tiers: [tierConfig('a', 'a')] })
  const told: (readonly number[] | undefined)[] = []
  for (const records of writes) {
    let places: readonly number[] | undefined
    const existed = (these: readonly number[]) => {
      places = these
    }
    await fixture.federation.call('memory/remember', { records }, { ...anyContext(), existed })
    told.push(places)
  }
  return told
}

const content = 'text'

test.each([
  ['a lone store', () => embeddedStore({ path: join(folder.path, 'a.db'), tiers: ['a'] })],
  ['any memory', () => new PlainMemory()],
])('%s: entries whose ids are there already are told by their places', async (_, open) => {
  const writes = [
    [{ id: 'x', content }, { content }],
    [{ content }, { id: 'x', content }, { id: 'y', content }, { id: 'y', content }],
    [{ content }],
  ]
  expect(await toldBy(open(), writes)).toEqual([undefined, [1, 3], undefined])
})

test('a key that is rewritten is written', async () => {
  const store = embeddedStore({ path: join(folder.path, 'a.db'), tiers: ['a'] })
  const writes = [[{ key: 'k', content }], [{ key: 'k', content: 'other' }]]
  expect(await toldBy(store, writes)).toEqual([undefined, undefined])
})
