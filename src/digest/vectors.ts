/** Terms with weights, of length 1 unless it has none. */
export type Vector = ReadonlyMap<string, number>

/** Term frequencies, dampened, times how rare the term is, as a unit vector. */
export function weighted(terms: readonly string[], rarity: (term: string) => number): Vector {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
  for (const [term, count] of counts) counts.set(term, (1 + Math.log(count)) * rarity(term))
  return unit(counts)
}

/** The direction in which all of them point together. */
export function centre(vectors: Iterable<Vector>): Vector {
  const sum = new Map<string, number>()
  for (const vector of vectors) {
    for (const [term, weight] of vector) sum.set(term, (sum.get(term) ?? 0) + weight)
  }
  return unit(sum)
}

/** Of unit vectors: the cosine between them, from 0 to 1. */
export function likeness(left: Vector, right: Vector): number {
  const [small, large] = left.size <= right.size ? [left, right] : [right, left]
  let dot = 0
  for (const [term, weight] of small) dot += weight * (large.get(term) ?? 0)
  return dot
}

function unit(vector: Map<string, number>): Vector {
  let squares = 0
  for (const weight of vector.values()) squares += weight * weight
  const length = Math.sqrt(squares) || 1
  for (const [term, weight] of vector) vector.set(term, weight / length)
  return vector
}
