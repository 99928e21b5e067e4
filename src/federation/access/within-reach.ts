import type { Sees } from '../../events/places.js'
import type { Access } from '../../protocol/access.js'
import { type Reach, reachFor } from '../../protocol/access-reach.js'
import type { Method } from '../../protocol/methods.js'
import type { ChangeBook } from '../../state/book.js'
import type { Layout } from '../layout.js'
import type { Parts } from '../parts.js'
import { knownCountsOf } from '../reading/counts.js'
import { narrowed } from './narrowed.js'

/** What there is of a federation for each caller, by its access and the method that it calls. */
export class PartsByReach {
  readonly #whole: Parts
  readonly #known = new WeakMap<NonNullable<Access>, Map<Method, Parts>>()

  constructor(whole: Parts) {
    this.#whole = whole
  }

  /** The whole where nothing bounds the caller in that method. */
  of(access: Access, method: Method): Parts {
    if (access === undefined) return this.#whole
    const byMethod = this.#known.get(access) ?? new Map<Method, Parts>()
    this.#known.set(access, byMethod)
    const parts = byMethod.get(method) ?? this.#make(access, method)
    byMethod.set(method, parts)
    return parts
  }

  #make(access: Access, method: Method): Parts {
    const reach = reachFor(access, method)
    if (reach === undefined) return this.#whole
    return within(this.#whole, reach, (other) => this.of(access, other))
  }
}

function within(whole: Parts, reach: Reach, as: Parts['as']): Parts {
  const layout = layoutWithin(whole.layout, reach)
  return {
    ...whole,
    reach,
    whole,
    as,
    layout,
    upstreams: () => {
      const { sources, absent } = layout()
      const there = new Set([...sources.map(({ name }) => name), ...absent.keys()])
      return whole.upstreams().filter(({ name }) => there.has(name))
    },
    book: bookWithin(whole.book, reach),
    knownCounts: knownCountsOf(whole.knownCounts, reach.name),
  }
}

/** Worked out anew only when the whole has changed. */
function layoutWithin(whole: Parts['layout'], reach: Reach): Parts['layout'] {
  let from: Layout | undefined
  let made: Layout | undefined
  return () => {
    const now = whole()
    if (made === undefined || from !== now) {
      from = now
      made = narrowed(now, reach)
    }
    return made
  }
}

function bookWithin(book: ChangeBook, reach: Reach): ChangeBook {
  const { log } = book
  const sees: Sees = (place) => reach.covers(place)
  return { ...book, log: { ...log, read: (query) => log.read({ ...query, sees }) } }
}
