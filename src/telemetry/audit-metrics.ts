import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts what becomes of the audit log's lines. */
export interface AuditMetrics {
  written(lines: number): void
  lost(lines: number): void
  failing(state: boolean): void
}

/** Made only where there is an audit log. */
export function createAuditMetrics(registry: Registry): AuditMetrics {
  const registers = [registry]
  const written = new Counter({
    name: 'a2m_audit_lines_total',
    help: 'Lines written to the audit log.',
    registers,
  })
  const lost = new Counter({
    name: 'a2m_audit_lost_lines_total',
    help: 'Lines that could not be written to the audit log and are not kept any more.',
    registers,
  })
  const failing = new Gauge({
    name: 'a2m_audit_failing',
    help: '1 while the audit log cannot be written to.',
    registers,
  })
  return {
    written: (lines) => written.inc(lines),
    lost: (lines) => lost.inc(lines),
    failing: (state) => failing.set(state ? 1 : 0),
  }
}
