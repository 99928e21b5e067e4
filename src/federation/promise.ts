import type { Capability, Limits } from '../protocol/methods.js'
import { CAPABILITIES } from '../protocol/methods.js'
import type { Layout, Source } from './layout.js'
import { agreeOnVectors, type Space } from './space.js'

/** What the federation may truthfully declare, and what takes the rest away. */
export interface Promised {
  readonly capabilities: ReadonlySet<Capability>
  /** No tier can be written to, and no upstream is unread that might change that. */
  readonly readOnly: boolean
  readonly limits: Limits
  /** What all vectors have in common; undefined where `embeddings` is withheld. */
  readonly space: Space | undefined
  /** For each capability that is not declared: the reasons, each naming an upstream where one is at fault. */
  readonly withheld: ReadonlyMap<Capability, readonly string[]>
}

/** Capabilities that the gateway provides itself over any upstreams. */
const OWN: ReadonlySet<Capability> = new Set(['core', 'tiers', 'events', 'summarize', 'prompt'])
const NOTHING: ReadonlyMap<Capability, string> = new Map()
/** Capabilities that are there when every upstream that decides declares them. */
const SHARED: ReadonlySet<Capability> = new Set([
  'salience',
  'sessions',
  'keys',
  'embeddings',
  'external',
])

/** What a promise depends on beside the upstreams. */
export interface Standing {
  /** What the configuration turns off of the gateway's own, and where. */
  readonly off?: ReadonlyMap<Capability, string>
  /** The width of the vectors that were accepted before. */
  readonly width?: number | undefined
}

/**
 * Works out the promise: writable upstreams are intersected, a read-only one takes nothing away. Where none is writable, all
 * are intersected.
 */
export function promise(layout: Layout, { off = NOTHING, width }: Standing = {}): Promised {
  const writable = layout.sources.filter((source) => source.writable)
  const deciding = writable.length > 0 ? writable : layout.sources
  const withheld = new Map<Capability, readonly string[]>()
  const capabilities = new Set<Capability>()
  const { space, apart } = agreeOnVectors(deciding, width)
  for (const capability of CAPABILITIES) {
    const turnedOff = off.get(capability)
    const reasons = turnedOff === undefined ? whyNot(capability, deciding, layout) : [turnedOff]
    if (capability === 'embeddings' && reasons.length === 0) reasons.push(...apart)
    if (reasons.length === 0) capabilities.add(capability)
    else withheld.set(capability, reasons)
  }
  const readOnly = writable.length === 0 && layout.undecided.size === 0
  const agreed = capabilities.has('embeddings') ? space : undefined
  return { capabilities, readOnly, limits: tightest(deciding), space: agreed, withheld }
}

function whyNot(capability: Capability, deciding: readonly Source[], layout: Layout): string[] {
  if (OWN.has(capability)) return []
  const unread = [...layout.absent]
    .filter(([name]) => layout.undecided.has(name))
    .map(([name, reason]) => `${name}: ${reason}`)
  if (SHARED.has(capability)) return [...lacking(capability, deciding), ...unread]
  if (capability !== 'scopes') return ['not offered by this version of the gateway']
  const mixing = deciding.filter((source) => source.owners === 'common')
  return [...mixing.map(({ name, upstream }) => `${name}: ${whyMixing(upstream)}`), ...unread]
}

function whyMixing({ config, flaws }: Source['upstream']): string {
  if (config.owner === 'none') return 'configured with owner: none'
  return flaws.length > 0 ? flaws.join('; ') : 'does not declare scopes'
}

function lacking(capability: Capability, deciding: readonly Source[]): string[] {
  return deciding
    .filter(({ profile }) => !profile.capabilities.has(capability))
    .map(({ name, untrue }) =>
      untrue.has(capability)
        ? `${name}: declares ${capability} and does not keep what it brings`
        : `${name}: does not declare ${capability}`,
    )
}

function tightest(deciding: readonly Source[]): Limits {
  const names = ['max_records_per_call', 'max_recall_limit', 'max_content_length'] as const
  const limits: Limits = {}
  for (const name of names) {
    const values = deciding
      .map((source) => source.profile.limits[name])
      .filter((v) => v !== undefined)
    if (values.length > 0) limits[name] = Math.min(...values)
  }
  return limits
}
