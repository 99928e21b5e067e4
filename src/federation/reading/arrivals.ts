import { copyWith } from '../../protocol/copy.js'
import { inKeyRange, keyRange } from '../../protocol/key-prefix.js'
import type { MemoryRecord } from '../../protocol/records.js'
import type { Owner } from '../../protocol/scope.js'
import type { Arrived } from '../../upstreams/translate.js'
import type { Target } from '../plan.js'

/** What an upstream did that the protocol forbids; it is counted by these names and contained. */
export type Misbehaviour =
  | 'foreign_record'
  | 'duplicate_record'
  | 'ascending_scores'
  | 'over_limit'
  | 'ignored_where'
  | 'duplicate_key'
  | 'untrue_capability'

/** Told of misbehaviour, by upstream. */
export type Blame = (upstream: string, what: Misbehaviour, count: number) => void

export interface Arriving {
  readonly target: Target
  readonly owner: Owner
  readonly blame: Blame
  /** How near a record, as it came, is to the vector that was asked by. */
  readonly similarityOf?: ((raw: MemoryRecord) => number | undefined) | undefined
}

/** What an answer held: `unmatched` counts the records that did not pass the `where` they were asked by. */
export interface Arrivals {
  readonly arrived: readonly Arrived[]
  readonly unmatched: number
}

/** The records of one answer that belong into ours, in the answer's order, in the gateway's terms; each once. */
export function arrivals(
  raw: readonly MemoryRecord[],
  { target, owner, blame, similarityOf }: Arriving,
): Arrivals {
  const { translation, name } = target.source
  const counts = { foreign: 0, unmatched: 0, unmapped: 0, duplicate: 0 }
  const seen = new Set<string>()
  const arrived: Arrived[] = []
  for (const record of raw) {
    const similarity = similarityOf?.(record)
    const outcome = translation.arrive(record, owner, target.where)
    if (typeof outcome === 'string') counts[outcome]++
    else if (seen.size === seen.add(outcome.identity).size) counts.duplicate++
    else if (isUnder(outcome, target)) arrived.push(asWanted(outcome, target, similarity))
  }
  if (counts.foreign > 0) blame(name, 'foreign_record', counts.foreign)
  if (counts.unmatched > 0 && translation.pushes(target.where)) {
    blame(name, 'ignored_where', counts.unmatched)
  }
  if (counts.duplicate > 0) blame(name, 'duplicate_record', counts.duplicate)
  return { arrived, unmatched: counts.unmatched }
}

/** An upstream that matches prefixes by characters, which it may, gives too much. */
function isUnder({ record }: Arrived, { keyPrefix }: Target): boolean {
  return keyPrefix === undefined || inKeyRange(record.key, keyRange(keyPrefix))
}

/** Vectors are not returned unless asked for (§3.7), also not those that reserved metadata brings along. */
function asWanted(
  arrived: Arrived,
  { embeddings }: Target,
  similarity: number | undefined,
): Arrived {
  const near = similarity === undefined ? arrived : copyWith(arrived, { similarity })
  if (embeddings || near.record.embedding === undefined) return near
  const { embedding: _, ...record } = near.record
  return copyWith(near, { record })
}

/** §5.3: scores descend. Where they do not, the scores are taken at their word and the order is not. */
export function byScore(
  raw: readonly MemoryRecord[],
  upstream: string,
  blame: Blame,
): readonly MemoryRecord[] {
  for (let index = 1; index < raw.length; index++) {
    if ((raw[index]?.score ?? 0) <= (raw[index - 1]?.score ?? Number.POSITIVE_INFINITY)) continue
    blame(upstream, 'ascending_scores', 1)
    return raw.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
  }
  return raw
}
