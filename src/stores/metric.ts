/** How two vectors can be compared (§3.7): by angle, by inner product, by distance. */
export const METRICS = ['cosine', 'dot', 'l2'] as const
export type Metric = (typeof METRICS)[number]

/** One way to compare. `similarity` is the higher the nearer, and -Infinity where there is no telling. */
export interface Comparison {
  /** Makes a vector what `similarity` takes of it, of the same width. */
  prepare(vector: ArrayLike<number>): Float64Array
  /** Compares a prepared query with the prepared vector that starts at an offset of many. */
  similarity(query: Float64Array, vectors: Float64Array, offset: number): number
  /** From 0 to 1, in the order of similarities. */
  score(similarity: number): number
}

export const COMPARISONS: Readonly<Record<Metric, Comparison>> = {
  cosine: {
    prepare: direction,
    similarity: (query, vectors, offset) => known(dot(query, vectors, offset)),
    score: (cosine) => Math.min(1, Math.max(0, (1 + cosine) / 2)),
  },
  dot: {
    prepare: (vector) => new Float64Array(vector),
    similarity: (query, vectors, offset) => known(dot(query, vectors, offset)),
    score: (product) => 0.5 + Math.atan(product) / Math.PI,
  },
  l2: {
    prepare: (vector) => new Float64Array(vector),
    similarity: (query, vectors, offset) => known(-squaredDistance(query, vectors, offset)),
    score: (negative) => 1 / (1 + Math.sqrt(-negative)),
  },
}

/**
 * A vector of length 1, scaled first so that no square is too large or too small for a double. A zero vector points nowhere:
 * it becomes NaN, and is as far from everything as can be.
 */
function direction(vector: ArrayLike<number>): Float64Array {
  const unit = new Float64Array(vector)
  let largest = 0
  for (let at = 0; at < unit.length; at++) largest = Math.max(largest, Math.abs(unit[at] ?? 0))
  let squares = 0
  for (let at = 0; at < unit.length; at++) {
    const scaled = (unit[at] ?? 0) / largest
    squares += scaled * scaled
  }
  const length = Math.sqrt(squares)
  for (let at = 0; at < unit.length; at++) unit[at] = (unit[at] ?? 0) / largest / length
  return unit
}

/** The nearest number to a similarity that JSON can say. */
export function finite(similarity: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, similarity))
}

function known(similarity: number): number {
  return Number.isNaN(similarity) ? -Infinity : similarity
}

/** Four sums at a time, since each addition has to wait for the one before it in its sum. */
function dot(query: Float64Array, vectors: Float64Array, offset: number): number {
  let [a, b, c, d] = [0, 0, 0, 0]
  const whole = query.length - (query.length % 4)
  for (let at = 0, to = offset; at < whole; at += 4, to += 4) {
    a += (query[at] ?? 0) * (vectors[to] ?? 0)
    b += (query[at + 1] ?? 0) * (vectors[to + 1] ?? 0)
    c += (query[at + 2] ?? 0) * (vectors[to + 2] ?? 0)
    d += (query[at + 3] ?? 0) * (vectors[to + 3] ?? 0)
  }
  for (let at = whole; at < query.length; at++) a += (query[at] ?? 0) * (vectors[offset + at] ?? 0)
  return a + b + (c + d)
}

function squaredDistance(query: Float64Array, vectors: Float64Array, offset: number): number {
  let [a, b] = [0, 0]
  const whole = query.length - (query.length % 2)
  for (let at = 0, to = offset; at < whole; at += 2, to += 2) {
    const first = (query[at] ?? 0) - (vectors[to] ?? 0)
    const second = (query[at + 1] ?? 0) - (vectors[to + 1] ?? 0)
    a += first * first
    b += second * second
  }
  if (whole < query.length) a += ((query[whole] ?? 0) - (vectors[offset + whole] ?? 0)) ** 2
  return a + b
}
