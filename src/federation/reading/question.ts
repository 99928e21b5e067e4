import { copyWith } from '../../protocol/copy.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { ParamsOf } from '../../protocol/methods.js'
import { type Owner, ownerOf } from '../../protocol/scope.js'
import type { Parts } from '../parts.js'
import type { NearestWanted, Target } from '../plan.js'
import { requireWidth } from '../width.js'

type Params = ParamsOf<'memory/recall'>

/** What a recall asks for. */
export interface Question {
  readonly owner: Owner
  /** Empty where no words are given. */
  readonly query: string
  readonly nearest: NearestWanted | undefined
}

/** Reads the question out of the params. A vector of another width than the common one is `-32008`. */
export function questionOf(parts: Parts, params: Params): Question {
  const { embedding } = params
  const { space } = parts.promise()
  const query = params.query?.trim() ?? ''
  requireWidth(parts, [embedding])
  const nearest = embedding && space && { vector: embedding, space, words: query !== '' }
  return { owner: ownerOf(params), query, nearest }
}

/** What every target is asked, and what for. */
export interface Wish extends Question {
  readonly limit: number
  /** How many records are asked of each. */
  readonly width: number
  /** The asking is no use of the records. */
  readonly quiet: boolean
  /** It has to be known how near each record is. */
  readonly compared: boolean
  /** What the gateway's own comparison of vectors weighs. */
  readonly weight: number
}

interface Asked extends Question {
  /** Several upstreams are asked. */
  readonly many: boolean
  /** More than goes out may be asked of them all the same. */
  readonly veiled: boolean
  readonly limit: number
}

export function wishOf(
  { recall }: Parts,
  { min_score, [EXTENSION]: extension }: Params,
  { owner, query, nearest, many, veiled, limit }: Asked,
): Wish {
  const likened = nearest !== undefined && extension?.similarities === true
  const alone = nearest !== undefined && !nearest.words
  const weight = recall.voters.vector || (likened && alone ? 1 : 0)
  return {
    owner,
    query,
    nearest,
    limit,
    weight,
    width: limit === 0 || !many ? limit : Math.max(limit, recall.window),
    quiet: extension?.quiet === true || many || veiled || min_score !== undefined,
    compared: likened || (many && nearest !== undefined && weight > 0),
  }
}

/** The params for one target, in its terms. */
export function paramsFor(target: Target, wish: Wish): Params {
  const { source, tiers, where, keyPrefix, vector, embeddings } = target
  const { query, owner, quiet, compared } = wish
  const width = widthFor(target, wish)
  const near = { embeddings, compared: compared && vector !== undefined }
  const selected = { tiers, owner, where, limit: width, keyPrefix, quiet, ...near }
  const selection = source.translation.reading(selected, where)
  if (query === '' && vector === undefined) return selection
  return copyWith(selection, {
    ...(query === '' ? {} : { query }),
    ...(vector === undefined ? {} : { embedding: vector }),
  })
}

/** By a vector alone, a store that knows the extension gives the very nearest: more of them would change nothing. */
function widthFor({ source }: Target, { query, compared, limit, width }: Wish): number {
  return compared && query === '' && source.profile.extended ? limit : width
}

/**
 * How many records a target may answer with; 0 is any number. One that is not told the whole of `where`, or reads a prefix its own
 * way, is asked for everything.
 */
export function widthAt(target: Target, wish: Wish): number {
  const { source, where, keyPrefix } = target
  return source.translation.holdsTo(where, keyPrefix) ? widthFor(target, wish) : 0
}
