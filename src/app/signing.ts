import { join } from 'node:path'
import type { Registry } from 'prom-client'
import type { Config, UpstreamConfig } from '../config/config.js'
import { audienceOf, SIGNING_FILE, signsTokens } from '../config/signing.js'
import { qualified } from '../config/views.js'
import type { PublishedKeys, Signer } from '../identity/signer.js'
import { createIds } from '../protocol/ids.js'
import { createSigningMetrics } from '../telemetry/signing-metrics.js'
import type { Vouch } from '../transport/wire.js'
import { ownerTokens } from '../upstreams/owner-tokens.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { makeFolder } from './folder.js'

/** How the gateway speaks for owners by tokens. */
export interface Signing {
  /** The subject of what it asks on its own account. */
  readonly subject: string
  /**
   * The keys are opened when they are first needed, and so once the state in `data_dir` is held by this gateway. Rejects with an
   * Error that names their file where they cannot be used.
   */
  open(): Promise<Signer>
  /** Undefined until they are open. */
  published(): PublishedKeys | undefined
  /** What keeps upstreams from taking its tokens, for people. */
  problem(): readonly string[]
}

export interface SigningParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly metricRegistry: Registry
  readonly closers: Closers
}

/** Undefined where no upstream is shown a token. */
export function createSigning(parts: SigningParts): Signing | undefined {
  const { config, closers } = parts
  if (!signsTokens(config)) return undefined
  let signer: Signer | undefined
  let opening: Promise<Signer> | undefined
  const open = async (): Promise<Signer> => {
    signer = await openSigner(parts, () => signer?.keySince)
    closers.add(rotating(signer, config.signing.rotate))
    return signer
  }
  return {
    subject: config.signing.subject,
    open() {
      opening ??= open()
      return opening
    },
    published: () => signer?.published(),
    problem: () => (signer?.keys === 'unknown' ? [NO_KEYS] : []),
  }
}

const NO_KEYS =
  'signing: there are no keys in data_dir yet; start the gateway once, so that upstreams can read them'

async function openSigner(
  { config, deps, metricRegistry }: SigningParts,
  keySince: () => number | undefined,
): Promise<Signer> {
  const { clock, randomBytes, log, purpose } = deps
  const { issuer, algorithm, lifetime, rotate } = config.signing
  const metrics = createSigningMetrics(metricRegistry, { now: clock.now, keySince })
  await makeFolder(config.dataDir)
  const { createSigner } = await import('../identity/signer.js')
  return createSigner({
    path: join(config.dataDir, SIGNING_FILE),
    ...{ issuer, algorithm, lifetime, rotate, clock, purpose },
    newId: createIds(clock.now, randomBytes),
    events: {
      signed: metrics.signed,
      rotated() {
        metrics.rotated()
        log.info({}, 'the next key signs tokens for owners from now on')
      },
      failed(problem) {
        metrics.failed()
        log.warn({ problem }, 'the keys for tokens were not rotated; those in use stay in use')
      },
    },
  })
}

/** The longest time between two looks whether a rotation is due, in ms. */
const LOOK_MS = 60_000
const LOOKS_PER_ROTATION = 20

/** Looks again and again whether a rotation is due. Returns the stop. */
function rotating(signer: Signer, rotate: number): () => void {
  const every = Math.max(50, Math.min(LOOK_MS, rotate / LOOKS_PER_ROTATION))
  const timer = setInterval(() => void signer.turn(), every).unref()
  return () => clearInterval(timer)
}

/** Says who an ask of an upstream of a federation is for; undefined where the upstream is shown no tokens. */
export async function vouchFor(
  upstream: UpstreamConfig,
  federation: string,
  signing: Signing | undefined,
): Promise<Vouch | undefined> {
  const audience = audienceOf(upstream)
  if (audience === undefined) return undefined
  if (signing === undefined) throw new TypeError(`nobody signs for upstream ${upstream.name}`)
  const { connect, name } = upstream
  const own = connect.kind === 'http' && connect.bearer !== undefined
  return ownerTokens({
    signer: await signing.open(),
    verifier: { upstream: qualified(federation, name), audience },
    subject: signing.subject,
    ownCredential: own ? 'given' : 'none',
  })
}
