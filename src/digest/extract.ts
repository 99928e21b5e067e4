import { codePoints } from '../text/points.js'
import type { Tokenizer } from '../text/tokenizer.js'
import { type Candidate, candidates } from './candidates.js'
import type { Source, Summarizer, Summary } from './summarizer.js'
import { likeness } from './vectors.js'

/** Characters of content that are looked through. */
const INPUT = 2_000_000
/** A summary has a third of the sentences there are, but no fewer and no more than these. */
const FEWEST_SENTENCES = 3
const MOST_SENTENCES = 12
/** In code points. */
const LONGEST_SUMMARY = 2_000
/** The best of the sentences, among which is chosen. */
const SHORTLIST = 500
/** From this likeness on, two sentences say the same. */
const SAME = 0.8
/** What a sentence loses by being like one that is chosen already, against what it has by its weight. */
const REDUNDANCY = 0.4
/** Ids that a summary names of records that say the same as one of its sentences. */
const MOST_NAMED = 100

/**
 * Summarizes without a model: sentences that speak best for all sources (MMR over their likeness to the centre), each to the letter,
 * in the order of their sources. Declines where no sentence has any substance, and where it would only copy one record.
 */
export function createExtractor(tokenizer: Tokenizer): Summarizer {
  return {
    model: null,
    input: INPUT,
    async summarize(sources, { longest, context }) {
      const all = await candidates(sources, tokenizer, context)
      const chosen = choose(all, Math.min(longest, LONGEST_SUMMARY))
      if (chosen.length === 0 || isCopy(chosen, all)) return undefined
      return summaryOf(chosen, all, sources)
    },
  }
}

function choose(all: readonly Candidate[], longest: number): readonly Candidate[] {
  const most = Math.min(MOST_SENTENCES, Math.max(FEWEST_SENTENCES, Math.ceil(all.length / 3)))
  const shortlist = all.toSorted((a, b) => b.weight - a.weight).slice(0, SHORTLIST)
  const closest = new Map(shortlist.map((candidate) => [candidate, 0]))
  const chosen: Candidate[] = []
  let room = longest + 1
  while (chosen.length < most) {
    const next = best(closest)
    if (next === undefined) break
    closest.delete(next)
    const size = codePoints(next.text) + 1
    if (size > room) continue
    room -= size
    chosen.push(next)
    drawNear(next, closest)
  }
  return chosen.sort((a, b) => a.place - b.place)
}

/** The one with most to say that is not said yet; of equals the earlier. */
function best(closest: ReadonlyMap<Candidate, number>): Candidate | undefined {
  let found: Candidate | undefined
  let highest = -Infinity
  for (const [candidate, likest] of closest) {
    const value = (1 - REDUNDANCY) * candidate.weight - REDUNDANCY * likest
    if (value <= highest) continue
    found = candidate
    highest = value
  }
  return found
}

/** Notes how like the chosen one the others are, and takes off those that say the same. */
function drawNear(chosen: Candidate, closest: Map<Candidate, number>): void {
  for (const [candidate, likest] of closest) {
    const alike = likeness(chosen.vector, candidate.vector)
    if (alike >= SAME) closest.delete(candidate)
    else if (alike > likest) closest.set(candidate, alike)
  }
}

/** Everything that there is to say stands in one record, and all of it would be said again. */
function isCopy(chosen: readonly Candidate[], all: readonly Candidate[]): boolean {
  return (
    new Set(all.map(({ source }) => source)).size === 1 && all.every((one) => says(chosen, one))
  )
}

function says(chosen: readonly Candidate[], { vector }: Candidate): boolean {
  return chosen.some((one) => likeness(one.vector, vector) >= SAME)
}

function summaryOf(
  chosen: readonly Candidate[],
  all: readonly Candidate[],
  sources: readonly Source[],
): Summary {
  const used = new Set(chosen.map(({ source }) => source))
  for (const candidate of all) {
    if (used.size >= MOST_NAMED) break
    if (!used.has(candidate.source) && says(chosen, candidate)) used.add(candidate.source)
  }
  const inOrder = [...used].sort((a, b) => a - b)
  return {
    content: chosen.map(({ text }) => text).join('\n'),
    of: inOrder.flatMap((source) => sources[source]?.id ?? []),
  }
}
