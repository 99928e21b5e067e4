import type { Capability } from '../protocol/methods.js'

/** Capabilities that an upstream has been found not to keep, by its name. */
export type Distrust = (upstream: string) => ReadonlySet<string>

/**
 * What upstreams have shown of the capabilities that they declare, in this run. One that declares a capability and drops what it is
 * given counts from then on as one that does not declare it.
 */
export class Trust {
  readonly #proven = new Map<string, Set<Capability>>()
  readonly #untrue = new Map<string, Set<Capability>>()
  readonly #mixing = new Set<string>()
  #revision = 0

  /** Counts up whenever an upstream loses a capability. */
  get revision(): number {
    return this.#revision
  }

  isProven(upstream: string, capability: Capability): boolean {
    return this.#proven.get(upstream)?.has(capability) ?? false
  }

  prove(upstream: string, capability: Capability): void {
    enter(this.#proven, upstream, capability)
  }

  distrust(upstream: string, capability: Capability): void {
    enter(this.#untrue, upstream, capability)
    this.#revision++
  }

  /** Whether an upstream has given records of owners that were not asked for, so that its counts are not one owner's either. */
  mixes(upstream: string): boolean {
    return this.#mixing.has(upstream)
  }

  noteMixing(upstream: string): void {
    this.#mixing.add(upstream)
  }

  readonly untrueOf: Distrust = (upstream) => this.#untrue.get(upstream) ?? NONE
}

const NONE: ReadonlySet<string> = new Set()

function enter(sets: Map<string, Set<Capability>>, name: string, capability: Capability): void {
  const set = sets.get(name) ?? new Set()
  set.add(capability)
  sets.set(name, set)
}
