import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/protocol/time.js'
import { createLoopback } from '../../../src/transport/in-process.js'
import { type TestFederation, tierConfig } from '../../support/federation.js'
import { anyContext, gatewayContext } from '../../support/federation-contexts.js'
import { caller, keyedMemory, overTiers } from '../../support/keyed.js'

let inner: TestFederation
let outer: TestFederation
const own = keyedMemory()
const patient = () => anyContext({ deadline: systemClock.monotonic() + 60_000 })

beforeEach(async () => {
  inner = await overTiers({ x: { memory: keyedMemory() }, y: { memory: keyedMemory() } })
  const gateway = createLoopback(inner.federation, gatewayContext)
  outer = await overTiers(
    { own: { memory: own }, gateway: { memory: gateway } },
    { tiers: [tierConfig('own', 'own'), tierConfig('x', 'gateway'), tierConfig('y', 'gateway')] },
  )
})
afterEach(async () => {
  await outer.close()
  await inner.close()
  own.records.length = 0
})

test('a key moves into a gateway behind the gateway, within it and out again, and loses no revision', async () => {
  const { remember, fetch, timeline } = caller(outer, patient)
  const [id] = await remember({ key: 'wf/1', content: '0', role: 'user' })
  const made = (await fetch('wf/1'))?.created_at
  for (const [index, tier] of ['own', 'x', 'y', 'y', 'own', 'y', 'x'].entries()) {
    expect(await remember({ key: 'wf/1', content: `${index}`, tier })).toEqual([id])
    const expected = { id, content: `${index}`, tier, revision: index + 1, created_at: made }
    expect(await fetch('wf/1')).toMatchObject(expected)
  }
  expect(await timeline({ key_prefix: 'wf' })).toHaveLength(1)
  expect(await caller(inner).fetch('wf/1')).toMatchObject({ id, revision: 7 })
  expect(own.records).toEqual([])
})

test('many writers on one key leave one record, whoever of the two gateways has it', async () => {
  const { remember, fetch, timeline } = caller(outer, patient)
  const tiers = ['x', undefined, 'own', undefined, 'y']
  const writers = Array.from({ length: 30 }, (_, n) => {
    const tier = tiers[n % tiers.length]
    return remember({ key: 'k', content: `${n}`, ...(tier && { tier }) })
  })
  const ids = new Set((await Promise.all(writers)).flat())
  expect(ids.size).toBe(1)
  expect(await fetch('k')).toMatchObject({ revision: 29 })
  expect(await timeline()).toHaveLength(1)
})
