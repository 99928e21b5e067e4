/** What happened at one upstream of a federation in one call. */
export interface UpstreamReport {
  /** `refused` is an error that the upstream answered with (`code`), `skipped` one that was not asked (`reason`). */
  state: 'ok' | 'failed' | 'timeout' | 'refused' | 'skipped'
  /** Milliseconds from the ask to its end. */
  ms: number
  count: number
  code?: number | undefined
  reason?: string | undefined
  /** What a gateway behind this one reported of its own upstreams. */
  federation?: FederationReport | undefined
}

/** Beside the results of a federation: who answered, and whether anybody who was asked did not. */
export interface FederationReport {
  partial: boolean
  upstreams: Record<string, UpstreamReport>
}
