import type { Charge } from './quota-charges.js'
import type { Span } from './quota-window.js'

/** The counts of one window of one limit, by whom they are for. */
export interface Generation<C> {
  readonly span: Span
  readonly counters: Map<string, C>
}

/** Windows of one limit that are remembered: the one under way, and the one before, should the clock go back to it. */
const REMEMBERED = 2

/** A counter for every subject of every limit, in the windows that are remembered. */
export class Counters<C> {
  readonly #generations = new Map<string, Generation<C>[]>()
  readonly #create: () => C

  constructor(create: () => C) {
    this.#create = create
  }

  /** The counter that a charge is to be added to. */
  of({ quota, span, subject }: Pick<Charge, 'quota' | 'span' | 'subject'>): C {
    const { counters } = this.generation(quota.id, span)
    let counter = counters.get(subject)
    if (counter === undefined) {
      counter = this.#create()
      counters.set(subject, counter)
    }
    return counter
  }

  generation(id: string, span: Span): Generation<C> {
    const remembered = this.#generations.get(id)
    const latest = remembered?.[0]
    return latest !== undefined && isSame(latest.span, span) ? latest : this.#turn(id, span)
  }

  /** Everything that is remembered, the latest windows of each limit first. */
  *all(): Iterable<readonly [id: string, generation: Generation<C>]> {
    for (const [id, remembered] of this.#generations) {
      for (const generation of remembered) yield [id, generation]
    }
  }

  #turn(id: string, span: Span): Generation<C> {
    const remembered = this.#generations.get(id) ?? []
    const known = remembered.find((generation) => isSame(generation.span, span))
    const generation = known ?? { span, counters: new Map<string, C>() }
    const others = remembered.filter((other) => other !== generation)
    this.#generations.set(id, [generation, ...others].slice(0, REMEMBERED))
    return generation
  }
}

function isSame(one: Span, other: Span): boolean {
  return one.start === other.start && one.end === other.end
}
