import { asksForOneOwner } from '../../config/signing.js'
import type { Clock } from '../../protocol/time.js'
import type { TailStore } from '../../state/tails.js'
import type { Outbound } from '../../upstreams/phrasing.js'
import type { Source } from '../layout.js'

/** An event of an upstream, as far as it says which write it is of. */
interface Told {
  readonly id: string
  readonly key: string | undefined
}

/** What the gateway itself writes at upstreams whose events it reads, so that it is not told of its own writes. */
export class Echoes {
  readonly #tails: TailStore
  readonly #clock: Clock

  constructor(tails: TailStore, clock: Clock) {
    this.#tails = tails
    this.#clock = clock
  }

  /** Called before a write. */
  expect(source: Source, items: readonly Outbound[]): void {
    if (isTailed(source)) this.#tails.expect(source.name, items.flatMap(namesOf), this.#clock.now())
  }

  /** The write did not take place. */
  unexpect(source: Source, items: readonly Outbound[]): void {
    if (isTailed(source)) this.#tails.unexpect(source.name, items.flatMap(namesOf))
  }

  /** Parts what came by into our own and others': `names` are those of our own, to be let go once all of it is told. */
  part<T extends Told>(
    upstream: string,
    events: readonly T[],
  ): { readonly names: readonly string[]; readonly others: readonly T[] } {
    const left = this.#tails.expected(upstream, events.flatMap(namesOfTold))
    const names: string[] = []
    const others = events.filter((event) => {
      const met = namesOfTold(event).filter((name) => (left.get(name) ?? 0) > 0)
      for (const name of met) left.set(name, (left.get(name) ?? 0) - 1)
      names.push(...met)
      return met.length === 0
    })
    return { names, others }
  }
}

/** Whose events are read: whoever declares them, may have other writers, and can be asked for everybody's. */
export function isTailed(source: Source): boolean {
  return hasOthersEvents(source) && !asksForOneOwner(source.upstream.config)
}

/** A built-in store in here has no other writers. */
export function hasOthersEvents({ profile, upstream }: Source): boolean {
  return profile.capabilities.has('events') && upstream.config.connect.kind !== 'store'
}

/** A record under a key that is taken already keeps the id that it has there, so that the key tells as well. */
function namesOf({ entry: { id, key } }: Outbound): string[] {
  return namesOfTold({ id, key })
}

function namesOfTold({ id, key }: Told): string[] {
  return key === undefined ? [`id:${id}`] : [`id:${id}`, `key:${key}`]
}
