import { Counter, type Registry } from 'prom-client'

/** Counts readings of the key sets that tokens are checked with. */
export interface IdentityMetrics {
  keySet(outcome: 'read' | 'failed'): void
}

export function createIdentityMetrics(registry: Registry): IdentityMetrics {
  const readings = new Counter({
    name: 'a2m_key_set_readings_total',
    help: 'Readings of the key sets of token issuers, by outcome (read, failed).',
    labelNames: ['outcome'],
    registers: [registry],
  })
  return { keySet: (outcome) => readings.inc({ outcome }) }
}
