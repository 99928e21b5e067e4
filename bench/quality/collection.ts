import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Doc {
  readonly id: string
  readonly text: string
}

export interface Question {
  readonly text: string
  /** What was judged relevant, by id of the document, and how much: 1 and up. */
  readonly relevant: ReadonlyMap<string, number>
}

/** Texts, questions, and who judged what relevant. */
export interface Collection {
  readonly docs: readonly Doc[]
  readonly questions: readonly Question[]
}

/** Reads docs.jsonl, queries.jsonl and qrels.tsv. Empty texts are left out, and with them what was judged of them. */
export function readCollection(directory: string): Collection {
  const lines = (name: string): string[] =>
    readFileSync(join(directory, name), 'utf8').trim().split('\n')
  const docs = lines('docs.jsonl')
    .map((line): Doc => JSON.parse(line))
    .filter(({ text }) => text.trim() !== '')
  const judged = readJudgements(lines('qrels.tsv').slice(1), new Set(docs.map(({ id }) => id)))
  const questions = lines('queries.jsonl')
    .map((line): Doc => JSON.parse(line))
    .map(({ id, text }) => ({ text, relevant: judged.get(id) ?? new Map<string, number>() }))
    .filter(({ relevant }) => relevant.size > 0)
  return { docs, questions }
}

function readJudgements(
  lines: readonly string[],
  known: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const judged = new Map<string, Map<string, number>>()
  for (const line of lines) {
    const [query = '', doc = '', grade = ''] = line.split('\t')
    if (Number(grade) < 1 || !known.has(doc)) continue
    const grades = judged.get(query) ?? new Map<string, number>()
    judged.set(query, grades.set(doc, Number(grade)))
  }
  return judged
}
