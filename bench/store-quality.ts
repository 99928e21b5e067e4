import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/protocol/time.js'
import { openDatabase } from '../src/stores/database.js'
import type { Effort } from '../src/stores/search.js'
import { openShelf, type Shelf, select } from '../src/stores/shelf.js'
import { remember } from '../src/stores/writing.js'

/** What is read: all there is, what a search reads, and a budget that is to this collection what that is to a million records. */
const EFFORTS: Readonly<Record<string, Effort>> = {
  'everything read': { budget: 1e9, depth: 1e9 },
  'as searched': { budget: 50_000, depth: 128 },
  'budget 1000, depth 128': { budget: 1000, depth: 128 },
  'budget 500, depth 128': { budget: 500, depth: 128 },
  'budget 250, depth 64': { budget: 250, depth: 64 },
}

/** Prints nDCG@10 over a test collection. */
export function printQuality(directory: string, say: (what: string, figure: string) => void): void {
  const read = (name: string): string[] =>
    readFileSync(join(directory, name), 'utf8').trim().split('\n')
  const queries = read('queries.jsonl').map((line): { id: string; text: string } =>
    JSON.parse(line),
  )
  const judged = readJudgements(read('qrels.tsv').slice(1))
  const docs = read('docs.jsonl').map((line): Doc => JSON.parse(line))
  for (const [name, effort] of Object.entries(EFFORTS)) {
    const shelf = fill(docs, effort)
    const gains = queries.map(({ id, text }) => ndcg(judged.get(id), search(shelf, text)))
    const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length
    say(`nDCG@10, ${name}`, mean.toFixed(4))
    shelf.db.close()
  }
}

interface Doc {
  readonly id: string
  readonly title: string
  readonly text: string
}

function fill(docs: readonly Doc[], effort: Effort): Shelf {
  const settings = { name: 'quality', tiers: [{ name: 'all' }], limits: {}, defaultLimit: 10 }
  const services = { clock: systemClock, newId: () => '', effort }
  const shelf = openShelf(openDatabase({ path: ':memory:' }), settings, services)
  const records = docs.map(({ id, title, text }) => ({ id, content: `${title} ${text}` }))
  shelf.db.transaction(() => remember(shelf, { records }))()
  return shelf
}

function search(shelf: Shelf, query: string): readonly string[] {
  const ranked = shelf.search.rank(shelf.tokenizer.query(query), select(shelf, {}), 10)
  return ranked.map(({ record }) => record.id)
}

type Judgements = ReadonlyMap<string, number>

function readJudgements(lines: readonly string[]): ReadonlyMap<string, Judgements> {
  const judged = new Map<string, Map<string, number>>()
  for (const line of lines) {
    const [query = '', doc = '', grade = '0'] = line.split('\t')
    const grades = judged.get(query) ?? new Map<string, number>()
    judged.set(query, grades.set(doc, Math.max(0, Number(grade))))
  }
  return judged
}

function ndcg(grades: Judgements = new Map(), found: readonly string[]): number {
  const gains = found.map((doc) => grades.get(doc) ?? 0)
  const ideal = [...grades.values()].sort((left, right) => right - left).slice(0, 10)
  const best = discounted(ideal)
  return best === 0 ? 0 : discounted(gains) / best
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, place) => sum + gain / Math.log2(place + 2), 0)
}
