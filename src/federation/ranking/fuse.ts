import { copyWith } from '../../protocol/copy.js'
import type { Explanation } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import type { Arrived } from '../../upstreams/translate.js'

/** The ranking of one upstream, best first; each record once. */
export interface RankedList {
  readonly name: string
  readonly arrived: readonly Arrived[]
  /** Shows an id that this list shows, unambiguously. */
  readonly qualify: (id: string) => string
}

/** A ranking of our own, cast on all candidates alike: their indices, best first; those it leaves out get no vote. */
export interface Voter {
  readonly name: string
  readonly weight: number
  readonly rank: (candidates: readonly MemoryRecord[]) => readonly number[]
}

export interface FuseOptions {
  /** The constant of reciprocal rank fusion: the larger, the less a first place is worth more than a second. */
  readonly k: number
  /** How many lists were asked for, those that did not come included. */
  readonly asked: number
  readonly voters: readonly Voter[]
  /** What the vote of each list weighs: 1 unless set. With 0 they only say which records the voters rank. */
  readonly listWeight?: number
}

/** A merged record, its `score` from 0 to 1 set, and the votes that gave it. */
export interface Fused {
  readonly record: MemoryRecord
  /** As it arrived; that is what voters are given. */
  readonly found: MemoryRecord
  /** Its time as exactly as its upstream told it. */
  readonly at: string
  readonly votes: Explanation
}

/** A record on its way into the order. What is told of it is made when it is read, since most are cut off unread. */
class Candidate implements Fused {
  readonly at: string
  readonly found: MemoryRecord
  /** Another record with this one's id and owner. */
  namesake: Candidate | undefined
  ambiguous = false
  sum: number
  best = 1
  readonly #list: RankedList
  readonly #place: Place
  #others: Explanation | undefined

  constructor({ record, at }: Arrived, list: RankedList, place: Place) {
    this.found = record
    this.at = at
    this.#list = list
    this.#place = place
    this.sum = place.share
  }

  vote(vote: Explanation[number]): void {
    this.#others ??= []
    this.#others.push(vote)
    this.sum += vote.share
  }

  get record(): MemoryRecord {
    const { found, best, sum, ambiguous } = this
    const id = ambiguous ? this.#list.qualify(found.id) : found.id
    const score = Math.min(1, sum / best)
    // Nearly every record comes with a score, and then the spread is the cheaper way.
    return found.score === undefined ? copyWith(found, { id, score }) : { ...found, id, score }
  }

  get votes(): Explanation {
    const first = { list: this.#list.name, ...this.#place }
    return [first, ...(this.#others ?? [])].map((vote) => ({
      ...vote,
      share: vote.share / this.best,
    }))
  }
}

/** Where a record stands in a list, and what that gives it. */
interface Place {
  readonly rank: number
  readonly weight: number
  readonly share: number
}

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): each list adds weight / (k + rank), ranks from 1. The sum is
 * divided by the best sum possible over what was asked. The same record (id, owner and content) from two lists is one with
 * two votes; equal ids of one owner that are not the same are both shown qualified. Ties stand as the lists came.
 */
export function fuse(
  lists: readonly RankedList[],
  { k, asked, voters, listWeight = 1 }: FuseOptions,
): Fused[] {
  const candidates = collect(lists, k, listWeight)
  vote(candidates, voters, k)
  const best = (asked * listWeight + voters.reduce((sum, voter) => sum + voter.weight, 0)) / (k + 1)
  for (const candidate of candidates) candidate.best = best
  return candidates.sort((a, b) => b.sum - a.sum)
}

function collect(lists: readonly RankedList[], k: number, weight: number): Candidate[] {
  const candidates: Candidate[] = []
  const byIdentity = new Map<string, Candidate>()
  for (const list of lists) {
    list.arrived.forEach((arrived, index) => {
      const rank = index + 1
      const share = weight / (k + rank)
      const { identity } = arrived
      const namesake = byIdentity.get(identity)
      const same = withContent(namesake, arrived.record.content)
      if (same !== undefined) {
        same.vote({ list: list.name, rank, weight, share })
        return
      }
      const candidate = new Candidate(arrived, list, { rank, weight, share })
      if (namesake !== undefined) distinguish(candidate, namesake)
      byIdentity.set(identity, candidate)
      candidates.push(candidate)
    })
  }
  return candidates
}

function withContent(first: Candidate | undefined, content: string): Candidate | undefined {
  let candidate = first
  while (candidate !== undefined && candidate.found.content !== content) {
    candidate = candidate.namesake
  }
  return candidate
}

function distinguish(candidate: Candidate, namesake: Candidate): void {
  candidate.namesake = namesake
  candidate.ambiguous = true
  namesake.ambiguous = true
}

function vote(candidates: readonly Candidate[], voters: readonly Voter[], k: number): void {
  if (voters.length === 0) return
  const records = candidates.map(({ found }) => found)
  for (const { name, weight, rank } of voters) {
    const ranked = [...new Set(rank(records))].flatMap((index) => candidates[index] ?? [])
    ranked.forEach((candidate, index) => {
      const share = weight / (k + index + 1)
      candidate.vote({ list: name, rank: index + 1, weight, share })
    })
  }
}
