import { systemClock } from '../src/protocol/time.js'
import { openDatabase } from '../src/stores/database.js'
import type { Effort } from '../src/stores/search.js'
import { openShelf, type Shelf, select } from '../src/stores/shelf.js'
import { remember } from '../src/stores/writing.js'
import { type Doc, readCollection } from './quality/collection.js'
import { DEPTH, rate } from './quality/measures.js'

/**
 * What is read: all there is, what a search reads, and small parts of it. Cranfield has some 21,000 postings a question, so
 * that 500 to 1000 are to it what the usual budget is to a million records. Too few candidates still raise a budget.
 */
const EFFORTS: Readonly<Record<string, Effort>> = {
  'everything read': { budget: 1e9, depth: 1e9 },
  'as searched': { budget: 50_000, depth: 128 },
  'budget 2000, depth 128': { budget: 2000, depth: 128 },
  'budget 1000, depth 128': { budget: 1000, depth: 128 },
  'budget 500, depth 128': { budget: 500, depth: 128 },
}

/** Prints nDCG@10 over a test collection in one store, a title before its text. */
export function printQuality(directory: string, say: (what: string, figure: string) => void): void {
  const { docs, questions } = readCollection(directory)
  for (const [name, effort] of Object.entries(EFFORTS)) {
    const shelf = fill(docs, effort)
    const answers = questions.map(({ text }) => search(shelf, text))
    say(`nDCG@10, ${name}`, rate(questions, answers).ndcg.toFixed(4))
    shelf.db.close()
  }
}

function fill(docs: readonly (Doc & { readonly title?: string })[], effort: Effort): Shelf {
  const settings = { name: 'quality', tiers: [{ name: 'all' }], limits: {}, defaultLimit: DEPTH }
  const services = { clock: systemClock, newId: () => '', effort }
  const shelf = openShelf(openDatabase({ path: ':memory:' }), settings, services)
  const records = docs.map(({ id, title = '', text }) => ({ id, content: `${title} ${text}` }))
  shelf.db.transaction(() => remember(shelf, { records }))()
  return shelf
}

function search(shelf: Shelf, query: string): readonly string[] {
  const ranked = shelf.search.rank(shelf.tokenizer.query(query), select(shelf, {}), DEPTH)
  return ranked.map(({ one }) => one.record.id)
}
