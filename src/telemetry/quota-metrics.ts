import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts what limits do, by their names in the configuration; whom they concern is in no label. */
export interface QuotaMetrics {
  refused(limit: string): void
  shadowed(limit: string): void
  warned(limit: string): void
  /** A call was decided without the counts that gateways share. */
  alone(): void
  store(state: 'up' | 'down'): void
  webhook(outcome: 'sent' | 'failed' | 'dropped'): void
}

/** Made only where there are limits. `store` is where they are counted. */
export function createQuotaMetrics(registry: Registry, store: 'file' | 'redis'): QuotaMetrics {
  const refused = ofLimit(registry, 'a2m_quota_refusals_total', 'Calls refused by a limit.')
  const shadowed = ofLimit(
    registry,
    'a2m_quota_shadow_refusals_total',
    'Calls that a shadow limit would have refused.',
  )
  const warned = ofLimit(
    registry,
    'a2m_quota_warnings_total',
    'Soft limits passed, once for each subject and window.',
  )
  const alone = new Counter({
    name: 'a2m_quota_alone_total',
    help: 'Calls decided without the shared counts, as on_failure says.',
    registers: [registry],
  })
  const webhooks = new Counter({
    name: 'a2m_quota_webhooks_total',
    help: 'Warnings for the webhook, by what became of them.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  return {
    refused,
    shadowed,
    warned,
    alone: () => alone.inc(),
    store: createState(registry, store),
    webhook: (outcome) => webhooks.inc({ outcome }),
  }
}

function ofLimit(registry: Registry, name: string, help: string): (limit: string) => void {
  const counter = new Counter({ name, help, labelNames: ['limit'], registers: [registry] })
  return (limit) => counter.inc({ limit })
}

function createState(registry: Registry, store: string): QuotaMetrics['store'] {
  const gauge = new Gauge({
    name: 'a2m_quota_store_state',
    help: '1 for the state of what counts are kept in: up, or down while it cannot be reached or written.',
    labelNames: ['store', 'state'],
    registers: [registry],
  })
  const set = (now: 'up' | 'down') => {
    for (const state of ['up', 'down'] as const) gauge.set({ store, state }, state === now ? 1 : 0)
  }
  set('up')
  return set
}
