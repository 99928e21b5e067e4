import { afterEach, expect, test } from 'vitest'
import { JsonText } from '../../../src/protocol/json.js'
import { openFederation, type TestFederation, tierConfig } from '../../support/federation.js'
import { anyContext, contextOf, ownerContext } from '../../support/federation-contexts.js'
import { ownersInMetadata } from '../../support/owner-metadata.js'
import { PlainMemory, type PlainOptions } from '../../support/plain-memory.js'
import { until } from '../../support/waiting.js'

let fixture: TestFederation
afterEach(() => fixture.close())

const anna = () => ownerContext('anna')

/** A federation of two stores that know no owners, a tier each. */
async function open(options: PlainOptions = {}, access?: 'read-only') {
  const [one, two] = [new PlainMemory(options), new PlainMemory()]
  const told = (memory: PlainMemory) => ({
    ...ownersInMetadata(memory),
    config: { owner: 'metadata', ids: 'own', access, refresh: 20 } as const,
  })
  fixture = await openFederation({
    upstreams: { one: told(one), two: told(two) },
    tiers: [tierConfig('a', 'one'), tierConfig('b', 'two')],
  })
  return { one, two, ...fixture.federation }
}

test('owners are kept apart, and a record moves with its owner, time and metadata', async () => {
  const { call, one, two } = await open()
  expect((await call('memory/describe', {}, anna())).capabilities).toContain('scopes')
  const metadata = new JsonText('{"n":1.0}')
  await call('memory/remember', { records: [{ id: 'x', content: 'c', metadata }] }, anna())
  const [before] = (await call('memory/timeline', {}, anna())).records
  expect(await call('memory/promote', { ids: ['x'], tier: 'b' }, anna())).toEqual({ promoted: 1 })
  expect([one.records, two.records].map(({ length }) => length)).toEqual([0, 1])
  const { records } = await call('memory/timeline', {}, anna())
  expect(records).toMatchObject([
    { id: 'x', owner: 'anna', created_at: before?.created_at, tier: 'b' },
  ])
  expect(records[0]?.metadata?.text).toBe('{"n":1.0}')
  expect((await call('memory/timeline', {}, ownerContext('ben'))).records).toEqual([])
})

test('records without an owner are those of callers without one', async () => {
  const { call } = await open()
  const local = () => contextOf({ kind: 'ownerless' })
  await call('memory/remember', { records: [{ id: 'x', content: 'of nobody' }] }, local())
  await call('memory/remember', { records: [{ id: 'x', content: 'of anna' }] }, anna())
  const contents = async (context = local()) =>
    (await call('memory/timeline', {}, context)).records.map(({ content }) => content)
  expect(await contents()).toEqual(['of nobody'])
  expect(await contents(anna())).toEqual(['of anna'])
  expect(await contents(anyContext())).toEqual(['of nobody', 'of anna'])
  expect(await call('memory/forget', { ids: ['x'] }, local())).toMatchObject({ forgotten: 1 })
  expect(await contents(anyContext())).toEqual(['of anna'])
})

test('who may act for all sees and removes what was there before', async () => {
  const { call, one } = await open()
  one.records.push({ id: 'old', content: 'old', created_at: '2026-01-01T00:00:00.000Z' })
  for (const context of [anna(), contextOf({ kind: 'ownerless' })]) {
    expect((await call('memory/timeline', {}, context)).records).toEqual([])
    expect(await call('memory/forget', { ids: ['old'] }, context)).toMatchObject({ forgotten: 0 })
  }
  expect((await call('memory/timeline', {}, anyContext())).records).toMatchObject([{ id: 'old' }])
  expect(await call('memory/forget', { ids: ['old'] }, anyContext())).toMatchObject({
    forgotten: 1,
  })
  expect(one.records).toEqual([])
})

test.each(['a2m-gateway', 'a2m-gateway-owner', 'a2m-gateway-empty'])(
  '%s in metadata or in where is no caller’s',
  async (name) => {
    const { call } = await open()
    const metadata = JsonText.of({ [name]: '=ben' })
    const where = { [name]: '=ben' }
    for (const context of [anna(), anyContext()]) {
      const refused = { code: -32602 }
      const write = call('memory/remember', { records: [{ content: 'x', metadata }] }, context)
      await expect(write).rejects.toMatchObject(refused)
      await expect(call('memory/recall', { where }, context)).rejects.toMatchObject(refused)
      await expect(call('memory/timeline', { where }, context)).rejects.toMatchObject(refused)
      await expect(call('memory/forget', { where }, context)).rejects.toMatchObject(refused)
      await expect(call('memory/summarize', { where }, context)).rejects.toMatchObject(refused)
    }
  },
)

test('one that does not keep metadata is not used, and scopes is withheld with the reason', async () => {
  const { call, one, report } = await open({ drops: ['metadata'] })
  const write = () => call('memory/remember', { records: [{ content: 'secret' }] }, anna())
  await expect(write()).rejects.toThrow(/does not keep metadata/)
  expect(one.records).toEqual([])
  await until(() => report().promised.withheld.has('scopes'))
  one.records.push({ id: 'o.anna/x', content: 'x', created_at: '2026-01-01T00:00:00.000Z' })
  await expect(write()).rejects.toThrow(/does not keep owners apart/)
  for (const context of [anna(), ownerContext('ben')]) {
    expect((await call('memory/timeline', {}, context)).records).toEqual([])
  }
  expect(report().promised.withheld.get('scopes')).toEqual([
    'one: owner: metadata: it does not keep metadata; owners are not kept apart',
  ])
})

test('one that is only read is nobody’s common ground', async () => {
  const { call, one, report } = await open(
    { faults: ['ignores-where'], limits: { max_recall_limit: 5 } },
    'read-only',
  )
  one.records.push({ id: 'old', content: 'old', created_at: '2026-01-01T00:00:00.000Z' })
  await until(() => report().promised.withheld.has('scopes'))
  expect((await call('memory/timeline', {}, anna())).records).toEqual([])
  expect((await call('memory/recall', { query: 'old' }, anna())).records).toEqual([])
})
