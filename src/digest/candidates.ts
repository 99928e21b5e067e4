import type { Context } from '../protocol/memory.js'
import { sentences } from '../text/sentences.js'
import type { Tokenizer } from '../text/tokenizer.js'
import { inStretches, turn } from './stretches.js'
import type { Source } from './summarizer.js'
import { centre, likeness, type Vector, weighted } from './vectors.js'

/** A sentence that could stand in a summary; `source` counts the records from 0, and so does `place` the sentences of all. */
export interface Candidate {
  readonly text: string
  readonly source: number
  readonly place: number
  readonly vector: Vector
  /** How well it speaks for all sources, up to 1. */
  readonly weight: number
}

/** In UTF-16 units; what is longer is no sentence, and none is cut. */
const LONGEST_SENTENCE = 600
/** Distinct terms, courtesies and function words aside, that say something. */
const LEAST_TERMS = 3
/** How many characters are worked on before others get their turn. */
const STRETCH = 20_000

const FILLER =
  'a an the and or but if so then than that this these those it its i me my you your he him his she her we us our they ' +
  'them their is am are was were be been being do does did have has had can could will would shall should may might must ' +
  'to of in on at by for with from as about into not no yes ok okay hi hello hey thanks thank please sorry great good fine ' +
  'well sure right nice cool sound sounds let just really very also too there here what which who how when where why now'

/** Weighs every sentence of substance against what all the records have in common, each record counting alike. */
export async function candidates(
  sources: readonly Source[],
  tokenizer: Tokenizer,
  context: Context,
): Promise<readonly Candidate[]> {
  const filler = new Set(tokenizer.index(FILLER))
  const drafts: Draft[] = []
  let since = 0
  for (const [source, { content }] of sources.entries()) {
    for (const text of sentences(content)) {
      const terms = substance(text, tokenizer, filler)
      if (terms !== undefined) drafts.push({ text, source, terms })
    }
    since += content.length
    if (since < STRETCH) continue
    since = 0
    await turn(context)
  }
  return weigh(drafts, context)
}

interface Draft {
  readonly text: string
  readonly source: number
  readonly terms: readonly string[]
}

const QUESTION = /[?\uff1f\u061f\u1367]["'\u201d\u2019\u00bb)\]\u300d\u300f]*$/u
const LETTERS = /[\p{L}\p{M}]/gu

/** The terms of a statement that says something; a question, a courtesy or a line of figures and signs says nothing that lasts. */
function substance(
  text: string,
  tokenizer: Tokenizer,
  filler: ReadonlySet<string>,
): readonly string[] | undefined {
  if (text.length > LONGEST_SENTENCE || QUESTION.test(text)) return undefined
  if ((text.match(LETTERS)?.length ?? 0) * 2 < text.replaceAll(' ', '').length) return undefined
  const terms = tokenizer.index(text).filter((term) => !filler.has(term))
  return new Set(terms).size < LEAST_TERMS ? undefined : terms
}

async function weigh(drafts: readonly Draft[], context: Context): Promise<readonly Candidate[]> {
  const spread = new Map<string, number>()
  await inStretches(drafts, context, ({ terms }) => {
    for (const term of new Set(terms)) spread.set(term, (spread.get(term) ?? 0) + 1)
  })
  const rarity = (term: string) => Math.log(1 + drafts.length / (spread.get(term) ?? 1))
  const vectors = await inStretches(drafts, context, ({ terms }) => weighted(terms, rarity))
  const middle = centre(await inStretches(voices(drafts, vectors), context, centre))
  return inStretches(drafts, context, ({ text, source }, place) => {
    const vector: Vector = vectors[place] ?? new Map()
    return { text, source, place, vector, weight: likeness(vector, middle) }
  })
}

/** The sentences of each record. */
function voices(drafts: readonly Draft[], vectors: readonly Vector[]): readonly Vector[][] {
  const ofSource = new Map<number, Vector[]>()
  for (const [place, vector] of vectors.entries()) {
    const source = drafts[place]?.source ?? 0
    const known = ofSource.get(source)
    if (known === undefined) ofSource.set(source, [vector])
    else known.push(vector)
  }
  return [...ofSource.values()]
}
