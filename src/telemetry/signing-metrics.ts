import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts what is signed for owners; whose it was is in no label. */
export interface SigningMetrics {
  signed(upstream: string): void
  rotated(): void
  /** Keys that were due for rotation could not be kept. */
  failed(): void
}

/** Made only where tokens are signed. `keySince` is when the key in use came to sign, in ms since 1970; undefined until there is one. */
export function createSigningMetrics(
  registry: Registry,
  { now, keySince }: { readonly now: () => number; readonly keySince: () => number | undefined },
): SigningMetrics {
  const signed = new Counter({
    name: 'a2m_tokens_signed_total',
    help: 'Tokens signed for owners, by the upstream that they are for. Most asks find one that is there.',
    labelNames: ['upstream'],
    registers: [registry],
  })
  const rotations = new Counter({
    name: 'a2m_signing_rotations_total',
    help: 'Rotations of the keys that tokens are signed with, by their outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  for (const outcome of ['done', 'failed']) rotations.inc({ outcome }, 0)
  new Gauge({
    name: 'a2m_signing_key_age_seconds',
    help: 'How long the key in use has signed tokens.',
    registers: [registry],
    collect() {
      const since = keySince()
      if (since !== undefined) this.set(Math.max(0, (now() - since) / 1000))
    },
  })
  return {
    signed: (upstream) => signed.inc({ upstream }),
    rotated: () => rotations.inc({ outcome: 'done' }),
    failed: () => rotations.inc({ outcome: 'failed' }),
  }
}
