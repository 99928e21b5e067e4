import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { openQuotaFile } from '../../../src/metering/quota-file.js'
import { LocalStore } from '../../../src/metering/quota-local.js'
import { withQuotas } from '../../../src/metering/with-quotas.js'
import type { Served } from '../../../src/protocol/serve.js'
import { createQuotaMetrics } from '../../../src/telemetry/quota-metrics.js'
import { contextWithin } from '../../support/contexts.js'
import { emptyFolder } from '../../support/gateway-process.js'
import { limiterOf, MINUTE, QuotaLog, WallClock } from '../../support/quotas.js'

const CALLERS = 20_000

const SERVED: Served = {
  refusal: () => undefined,
  recognised: (_method, params) => params,
  call: async () => ({}) as never,
  close: async () => {},
}

/** Bytes in use on the heap once what nobody needs is gone. */
function heap(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  return process.memoryUsage().heapUsed
}

/** Limits over a minute, a day and a month, as they stand in a file; `calls` callers call twice in two windows of the first. */
async function used(callers: number): Promise<number> {
  const clock = new WallClock('2027-03-10T12:00:00Z')
  const file = openQuotaFile(join(emptyFolder(), 'quotas.db'))
  const store = new LocalStore({ file, clock, events: new QuotaLog() })
  onTestFinished(() => store.close())
  const quotas = [
    { name: 'minute', window: MINUTE },
    { name: 'day', window: 1440 * MINUTE },
    { name: 'month', window: 'month' as const, per: 'owner' as const },
  ]
  const limiter = limiterOf({ quotas, clock, store })
  const memory = withQuotas(SERVED, { limiter, countStock: () => Promise.resolve(0) })
  const before = heap()
  for (let round = 0; round < 4; round++) {
    if (round === 2) clock.pass(MINUTE)
    for (let index = 0; index < callers; index++) {
      const scope = { kind: 'owners', owners: [`owner-${index}`] } as const
      const caller = { name: `caller-${index}`, roles: [], scope }
      await memory.call('memory/recall', { query: '' }, { ...contextWithin(1000), caller })
    }
  }
  return heap() - before
}

test('counts of 20,000 callers take 30 MB at most', async () => {
  const one = await used(1)
  const all = await used(CALLERS)
  expect(all - one).toBeGreaterThan(CALLERS * 10)
  expect(all - one).toBeLessThan(30 * 1024 * 1024)
}, 60_000)

test('metrics have no more series however many callers there are', async () => {
  const registry = new Registry()
  const metrics = createQuotaMetrics(registry, {
    limits: [{ name: 'minute', mode: 'enforce', soft: undefined }],
    redis: undefined,
    webhook: undefined,
  })
  const series = async () => (await registry.metrics()).match(/^a2m_/gm)?.length
  metrics.refused('minute')
  const before = await series()
  for (let caller = 0; caller < 1000; caller++) metrics.refused('minute')
  expect(await series()).toBe(before)
  expect(await registry.metrics()).toContain('a2m_quota_refusals_total{limit="minute"} 1001')
})
