import { Counter, Gauge, type Registry } from 'prom-client'

/** What there is to be counted, as configured. */
export interface CountedQuotas {
  readonly limits: readonly CountedLimit[]
  /** Where the counts are kept; undefined is in a file. */
  readonly redis: object | undefined
  readonly webhook: object | undefined
}

interface CountedLimit {
  readonly name: string
  readonly mode: 'enforce' | 'shadow'
  readonly soft: number | undefined
}

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

/**
 * Made only where there are limits. What may come to be counted of them is there with 0 from the start, so that the first of it
 * is an increase.
 */
export function createQuotaMetrics(registry: Registry, wanted: CountedQuotas): QuotaMetrics {
  const { limits, redis, webhook } = wanted
  const refused = ofLimits(registry, limits.filter(isEnforced), {
    name: 'a2m_quota_refusals_total',
    help: 'Calls refused by a limit.',
  })
  const shadowed = ofLimits(registry, limits.filter(isShadow), {
    name: 'a2m_quota_shadow_refusals_total',
    help: 'Calls that a shadow limit would have refused.',
  })
  const warned = ofLimits(registry, limits.filter(isSoft), {
    name: 'a2m_quota_warnings_total',
    help: 'Soft limits passed, once for each subject and window.',
  })
  const alone = new Counter({
    name: 'a2m_quota_alone_total',
    help: 'Calls decided without the shared counts, as on_failure says.',
    registers: [registry],
  })
  return {
    refused,
    shadowed,
    warned,
    alone: () => alone.inc(),
    store: createState(registry, redis === undefined ? 'file' : 'redis'),
    webhook: createOutcomes(registry, webhook),
  }
}

function ofLimits(
  registry: Registry,
  limits: readonly CountedLimit[],
  about: { readonly name: string; readonly help: string },
): (limit: string) => void {
  const counter = new Counter({ ...about, labelNames: ['limit'], registers: [registry] })
  for (const { name } of limits) counter.inc({ limit: name }, 0)
  return (limit) => counter.inc({ limit })
}

function isEnforced({ mode }: CountedLimit): boolean {
  return mode === 'enforce'
}

function isShadow({ mode }: CountedLimit): boolean {
  return mode === 'shadow'
}

function isSoft({ soft }: CountedLimit): boolean {
  return soft !== undefined
}

function createOutcomes(registry: Registry, webhook: object | undefined): QuotaMetrics['webhook'] {
  const counter = new Counter({
    name: 'a2m_quota_webhooks_total',
    help: 'Warnings for the webhook, by what became of them.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const outcomes = webhook === undefined ? [] : (['sent', 'failed', 'dropped'] as const)
  for (const outcome of outcomes) counter.inc({ outcome }, 0)
  return (outcome) => counter.inc({ outcome })
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
