import { createRandom } from '../zipf.js'
import type { Doc } from './collection.js'

/** How a collection is dealt to stores: the part that each gets, of 1 in all. */
export interface Split {
  readonly name: string
  readonly parts: readonly number[]
  /** The least nDCG@10 with the voter, as a share of what one store that holds all reaches. */
  readonly least: number
}

export const SPLITS: readonly Split[] = [
  { name: 'three of 70, 25, 5 %', parts: [0.7, 0.25, 0.05], least: 0.95 },
  { name: 'three even', parts: [1 / 3, 1 / 3, 1 / 3], least: 0.97 },
  { name: 'five even', parts: [0.2, 0.2, 0.2, 0.2, 0.2], least: 0.97 },
]

/** The store of each document, by its place in `parts`: shuffled by a seed, then cut. */
export function deal(
  docs: readonly Doc[],
  parts: readonly number[],
  seed: number,
): ReadonlyMap<string, number> {
  const shuffled = shuffle(
    docs.map(({ id }) => id),
    seed,
  )
  const ends = parts.map((_, index) => parts.slice(0, index + 1).reduce((sum, part) => sum + part))
  return new Map(
    shuffled.map((id, index) => {
      const store = ends.findIndex((end) => index < Math.round(end * shuffled.length))
      return [id, store]
    }),
  )
}

/** Fisher and Yates' shuffle. */
function shuffle(ids: string[], seed: number): string[] {
  const random = createRandom(seed)
  for (let last = ids.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const [a = '', b = ''] = [ids[last], ids[other]]
    ids[last] = b
    ids[other] = a
  }
  return ids
}
