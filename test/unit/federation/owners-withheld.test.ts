import { afterEach, expect, test } from 'vitest'
import type { Context } from '../../../src/protocol/memory.js'
import type { Method } from '../../../src/protocol/methods.js'
import { serve } from '../../../src/protocol/serve.js'
import { openFederation, type TestFederation, tierConfig } from '../../support/federation.js'
import { anyContext, contextOf, ownerContext } from '../../support/federation-contexts.js'
import { PlainMemory } from '../../support/plain-memory.js'

let fixture: TestFederation
afterEach(() => fixture.close())

async function send(method: Method, params: object, context: Context) {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { reply = '' } = await serve(text, fixture.federation, context)
  return JSON.parse(reply)
}

/** A store that keeps owners apart beside one that does not, so that `scopes` is not declared. */
async function open() {
  const apart = new PlainMemory({ capabilities: ['scopes'] })
  fixture = await openFederation({
    upstreams: { apart: { memory: apart }, mixed: { memory: new PlainMemory() } },
    tiers: [tierConfig('a', 'apart'), tierConfig('b', 'mixed')],
  })
  return apart
}

const entry = { content: 'a secret', tier: 'a' }

test('who may act for everybody does not get everybody’s records for one owner', async () => {
  const apart = await open()
  for (const owner of ['ann', 'bob']) {
    await send('memory/remember', { records: [entry] }, ownerContext(owner))
  }
  const { capabilities } = (await send('memory/describe', {}, anyContext())).result
  expect(capabilities).not.toContain('scopes')
  for (const [method, params] of [
    ['memory/recall', { query: 'secret', owner: 'carl' }],
    ['memory/timeline', { owner: 'ann' }],
    ['memory/remember', { records: [entry], owner: 'carl' }],
    ['memory/remember', { records: [{ ...entry, owner: 'carl' }] }],
  ] as const) {
    expect(await send(method, params, anyContext())).toMatchObject({ error: { code: -32003 } })
  }
  expect(apart.records.map(({ owner }) => owner)).toEqual(['ann', 'bob'])
  const all = await send('memory/timeline', {}, anyContext())
  expect(all.result.records).toHaveLength(2)
})

test('who may act for several gets what it names', async () => {
  await open()
  const several = contextOf({ kind: 'owners', owners: ['ann', 'bob'] })
  await send('memory/remember', { records: [{ ...entry, owner: 'bob' }] }, several)
  const of = async (owner: string) =>
    (await send('memory/timeline', { owner }, several)).result.records.length
  expect([await of('ann'), await of('bob')]).toEqual([0, 1])
})
