import { A2mError } from '../protocol/errors.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { WidthStore } from '../state/width.js'
import type { Handler, Parts } from './parts.js'
import { journalled } from './writing/writing.js'

type Vector = readonly number[]

/**
 * The one width of all vectors that are written through the gateway. The first is kept before anything is written, so that two
 * writes to different upstreams cannot fix two; where all that would have used it came to nothing, it is free again.
 */
export class Width {
  readonly #store: WidthStore
  #kept: number | undefined
  /** Some upstream has a vector of that width, or may have. */
  #accepted: boolean
  #holders = 0

  constructor(store: WidthStore) {
    this.#store = store
    this.#kept = store.read()
    this.#accepted = this.#kept !== undefined
  }

  /** Undefined where none is kept. */
  get kept(): number | undefined {
    return this.#kept
  }

  /** Keeps a width, which must be the one that is kept already if any, until `release` at the least. */
  hold(width: number): void {
    if (this.#kept === undefined) {
      journalled('not_sent', () => this.#store.write(width))
      this.#kept = width
    }
    this.#holders++
  }

  /** What is held, if anything, is there for good: a vector was written, or may have been. */
  accept(): void {
    this.#accepted = this.#kept !== undefined
  }

  release(): void {
    this.#holders--
    if (this.#accepted || this.#holders > 0) return
    try {
      this.#store.clear()
      this.#kept = undefined
    } catch {
      // A disk that takes nothing: the width stays what it is on it.
    }
  }
}

type Params = ParamsOf<'memory/remember'>
type Remember = Handler<Params, ResultOf<'memory/remember'>>

/** Holds a batch to one width before anything of it is written, and that width for as long as it is being written. */
export function withWidth(remember: Remember): Remember {
  return async (parts, params, context) => {
    const vectors = params.records.map(({ embedding }) => embedding)
    const first = vectors.find((vector) => vector !== undefined)
    if (first === undefined) return remember(parts, params, context)
    requireWidth(parts, vectors)
    parts.width.hold(first.length)
    try {
      return await remember(parts, params, context)
    } finally {
      parts.width.release()
    }
  }
}

/** Throws `-32008` at the first vector that has not the common width or, where none is fixed, that of the first of them. */
export function requireWidth(parts: Parts, vectors: readonly (Vector | undefined)[]): void {
  const first = vectors.find((vector) => vector !== undefined)
  if (first === undefined) return
  const dimensions = parts.promise().space?.dimensions ?? parts.width.kept ?? first.length
  const index = vectors.findIndex((vector) => vector !== undefined && vector.length !== dimensions)
  const given = vectors[index]?.length
  if (given === undefined) return
  throw new A2mError(
    'EMBEDDING_MISMATCH',
    `a vector of ${given} numbers, where all have ${dimensions}`,
    { dimensions, given, index },
  )
}
