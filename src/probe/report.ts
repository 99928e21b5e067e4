import type { Capability } from '../protocol/methods.js'

/** Something that an upstream says, by declaring a capability, and does not keep to. */
export interface Untruth {
  readonly capability: Capability
  /** What should hold. */
  readonly claim: string
  readonly expected: string
  readonly came: string
}

/** What was left alone, since trying it could cost more than it would tell. */
export interface Untried {
  readonly capability: Capability
  readonly reason: string
}

/** What became of a probe. */
export interface ProbeReport {
  readonly upstream: string
  readonly capabilities: readonly string[]
  /** How many claims were tried. */
  readonly tried: number
  readonly untrue: readonly Untruth[]
  readonly untried: readonly Untried[]
  /** Ids of records that it wrote and could not remove, and why not. */
  readonly left: { readonly ids: readonly string[]; readonly reason: string } | undefined
  /** It was told to stop before it was through. */
  readonly stopped: boolean
}

/** Checks one claim: what came must be as expected, by structure. */
export type Claim = (claim: string, expected: unknown, came: unknown) => void

const LONGEST = 160

/** A value as a report shows it. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}
