import { A2mError } from '../../protocol/errors.js'
import { inKeyRange, keyRange } from '../../protocol/key-prefix.js'
import { matches, type Where } from '../../protocol/matches.js'
import type { Context } from '../../protocol/memory.js'
import type { MemoryRecord } from '../../protocol/records.js'
import type { Owner } from '../../protocol/scope.js'
import { admitting } from './admission.js'
import type { MixedMemory, Reading } from './mixed-memory.js'
import { Names } from './names.js'
import { whereThere } from './where.js'

/** What is read of an owner's records, or of everybody's, in the gateway's terms. */
export interface Question<R extends MemoryRecord> {
  readonly method: Reading
  readonly owner: Owner
  readonly where: Where | undefined
  readonly keyPrefix?: string | undefined
  /** 0 is everything. */
  readonly limit: number
  /** Which of several count where there are more than the limit. */
  readonly cut: 'first' | 'last'
  /** `best`: where the upstream does not give everything, what it gives will do. `all`: it will not. */
  readonly wanted: 'best' | 'all'
  /** Asks the upstream in its own terms. */
  readonly ask: (there: Sent) => Promise<readonly R[]>
}

/** What an upstream is asked by, beside what needs no translation. */
export interface Sent {
  readonly where: Where
  readonly key_prefix?: string | undefined
  readonly limit: number
}

/** A record as it came and as its owner knows it. */
export interface Gathered<R extends MemoryRecord> {
  readonly raw: R
  readonly record: R
}

interface Sifted<R extends MemoryRecord> {
  readonly kept: readonly Gathered<R>[]
  /** How many came, and how many of them did not pass what the upstream was asked by. */
  readonly came: number
  readonly unasked: number
}

/**
 * Reads what is the owner's and passes all tests, whatever the upstream makes of them. Where it is found to ignore them, or cannot
 * be told all of them, everything is read: a limit would cut before what is not wanted has been dropped.
 */
export async function gather<R extends MemoryRecord>(
  mixed: MixedMemory,
  question: Question<R>,
  context: Context,
): Promise<readonly Gathered<R>[]> {
  const { owner, limit, method } = question
  const there = whereThere(question.where, owner)
  if (there === undefined) return []
  const narrow = { where: there.where, key_prefix: prefixThere(question), limit }
  const wide = limit === 0 || there.partly || question.keyPrefix || mixed.isDeaf(method)
  if (!wide) {
    const sifted = sift(mixed, question, await question.ask(narrow), there.partly)
    if (sifted.unasked === 0 || sifted.came < limit || sifted.kept.length >= limit) {
      return cut(sifted.kept, question)
    }
  }
  const most = await mixed.most(context)
  const raw = await question.ask({ ...narrow, limit: most ?? 0 })
  const sifted = sift(mixed, question, raw, there.partly)
  if (question.wanted === 'all') refuseClipped(sifted, limit, most)
  return cut(sifted.kept, question)
}

function prefixThere({ keyPrefix, owner }: Question<MemoryRecord>): string | undefined {
  return keyPrefix && owner !== undefined ? new Names(owner).qualify(keyPrefix) : undefined
}

function sift<R extends MemoryRecord>(
  mixed: MixedMemory,
  question: Question<R>,
  raw: readonly R[],
  partly: boolean,
): Sifted<R> {
  const { method, owner, where = {} } = question
  const admit = admitting(owner)
  const kept: Gathered<R>[] = []
  let [foreign, unmatched] = [0, 0]
  for (const one of raw) {
    const record = admit(one)
    if (record === undefined) foreign++
    else if (!matches(record, where)) unmatched++
    else kept.push({ raw: one, record })
  }
  const ignored = partly ? 0 : unmatched
  if (foreign > 0) mixed.blame('foreign_record', foreign)
  if (ignored > 0) mixed.blame('ignored_where', ignored)
  const strangers = owner === undefined ? 0 : foreign
  if (strangers > 0) mixed.noteDeaf(method)
  const unasked = ignored + strangers
  return { kept: beneath(kept, question.keyPrefix), came: raw.length, unasked }
}

/** §3.6 leaves open where a prefix ends; it is taken as a path. */
function beneath<R extends MemoryRecord>(
  kept: readonly Gathered<R>[],
  prefix: string | undefined,
): readonly Gathered<R>[] {
  if (prefix === undefined) return kept
  const range = keyRange(prefix)
  return kept.filter(({ record }) => inKeyRange(record.key, range))
}

function cut<T>(
  kept: readonly T[],
  { limit, cut }: { readonly limit: number; readonly cut: 'first' | 'last' },
): readonly T[] {
  if (limit === 0 || kept.length <= limit) return kept
  return cut === 'first' ? kept.slice(0, limit) : kept.slice(-limit)
}

/** As many as it ever gives, and others among them: an owner's may be missing, and nobody could tell. */
function refuseClipped(
  { kept, came }: Sifted<MemoryRecord>,
  limit: number,
  most: number | undefined,
): void {
  if (most === undefined || came < most || kept.length === came) return
  if (limit > 0 && kept.length >= limit) return
  throw new A2mError(
    'INTERNAL_ERROR',
    `it gives ${most} records at most, and not all of them are what was asked for: what is may not be among them`,
    { limit: 'max_recall_limit' },
  )
}
