import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createQuotaMetrics } from '../../../src/telemetry/quota-metrics.js'

async function seriesOf(webhook: object | undefined): Promise<readonly string[]> {
  const registry = new Registry()
  createQuotaMetrics(registry, {
    limits: [
      { name: 'hard', mode: 'enforce', soft: undefined },
      { name: 'soft', mode: 'enforce', soft: 0.8 },
      { name: 'unseen', mode: 'shadow', soft: undefined },
    ],
    redis: {},
    webhook,
  })
  return (await registry.metrics()).match(/^a2m_quota_\w+_total.*$/gm) ?? []
}

test('what may be counted is there with 0, so that the first of it is an increase', async () => {
  expect(await seriesOf({})).toEqual([
    'a2m_quota_refusals_total{limit="hard"} 0',
    'a2m_quota_refusals_total{limit="soft"} 0',
    'a2m_quota_shadow_refusals_total{limit="unseen"} 0',
    'a2m_quota_warnings_total{limit="soft"} 0',
    'a2m_quota_alone_total 0',
    'a2m_quota_webhooks_total{outcome="sent"} 0',
    'a2m_quota_webhooks_total{outcome="failed"} 0',
    'a2m_quota_webhooks_total{outcome="dropped"} 0',
  ])
})

test('where nobody is told, nothing is counted of it', async () => {
  expect((await seriesOf(undefined)).filter((line) => line.includes('webhooks'))).toEqual([])
})
