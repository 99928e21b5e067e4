import type { Explanation } from '../protocol/methods.js'
import type { MemoryRecord } from '../protocol/records.js'
import type { Arrived } from '../upstreams/translate.js'
import { identityOf } from './arrivals.js'

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
}

/** A merged record, its `score` from 0 to 1 set, and the votes that gave it. */
export interface Fused {
  readonly record: MemoryRecord
  /** Its time as exactly as its upstream told it. */
  readonly at: string
  readonly votes: readonly Explanation[number][]
}

interface Candidate {
  readonly record: MemoryRecord
  readonly at: string
  readonly list: RankedList
  readonly votes: { list: string; rank: number; weight: number; share: number }[]
  sum: number
  ambiguous: boolean
}

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): each list adds weight / (k + rank), ranks from 1. The sum is
 * divided by the best sum possible over what was asked. The same record (id, owner and content) from two lists is one with
 * two votes; equal ids of one owner that are not the same are both shown qualified. Ties stand as the lists came.
 */
export function fuse(lists: readonly RankedList[], { k, asked, voters }: FuseOptions): Fused[] {
  const candidates = collect(lists, k)
  vote(candidates, voters, k)
  const best = (asked + voters.reduce((sum, voter) => sum + voter.weight, 0)) / (k + 1)
  const ordered = candidates.toSorted((a, b) => b.sum - a.sum)
  return ordered.map((candidate) => finish(candidate, best))
}

function collect(lists: readonly RankedList[], k: number): Candidate[] {
  const candidates: Candidate[] = []
  const byIdentity = new Map<string, Candidate[]>()
  for (const list of lists) {
    list.arrived.forEach(({ record, at }, index) => {
      const rank = index + 1
      const share = 1 / (k + rank)
      const vote = { list: list.name, rank, weight: 1, share }
      const identity = identityOf(record)
      const namesakes = byIdentity.get(identity)
      const same = namesakes?.find((other) => other.record.content === record.content)
      if (same !== undefined) {
        same.votes.push(vote)
        same.sum += share
        return
      }
      const candidate = {
        record,
        at,
        list,
        votes: [vote],
        sum: share,
        ambiguous: namesakes !== undefined,
      }
      if (namesakes === undefined) byIdentity.set(identity, [candidate])
      else distinguish(namesakes, candidate)
      candidates.push(candidate)
    })
  }
  return candidates
}

function distinguish(namesakes: Candidate[], candidate: Candidate): void {
  namesakes.push(candidate)
  for (const namesake of namesakes) namesake.ambiguous = true
}

function vote(candidates: readonly Candidate[], voters: readonly Voter[], k: number): void {
  if (voters.length === 0) return
  const records = candidates.map((candidate) => candidate.record)
  for (const { name, weight, rank } of voters) {
    const ranked = [...new Set(rank(records))].flatMap((index) => candidates[index] ?? [])
    ranked.forEach((candidate, place) => {
      const share = weight / (k + place + 1)
      candidate.votes.push({ list: name, rank: place + 1, weight, share })
      candidate.sum += share
    })
  }
}

function finish({ record, at, list, votes, sum, ambiguous }: Candidate, best: number): Fused {
  for (const vote of votes) vote.share /= best
  const id = ambiguous ? list.qualify(record.id) : record.id
  return { record: { ...record, id, score: Math.min(1, sum / best) }, at, votes }
}
