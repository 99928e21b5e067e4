import { setTimeout } from 'node:timers/promises'
import type { Collection, Doc, Question } from './collection.js'
import { DEPTH } from './measures.js'

const BATCH = 50

/** One call; throws where it is answered with an error. */
async function call(url: string, method: string, params: object): Promise<Answer> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await reply.json()) as { result?: Answer; error?: unknown }
  if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}

interface Answer {
  readonly records?: readonly { readonly id: string }[]
  readonly federation?: { readonly partial: boolean }
}

/** How long the stores of a gateway may take to be there, in ms. */
const PATIENCE = 20_000

/** Waits until no store is missing from an answer. Without a question no words are looked at and nothing is learnt. */
export async function untilWhole(url: string): Promise<void> {
  const end = performance.now() + PATIENCE
  const params = { limit: 1, partial: true }
  while ((await call(url, 'memory/recall', params)).federation?.partial) {
    if (performance.now() > end) throw new Error('some store did not come up')
    await setTimeout(50)
  }
}

/** Writes documents to the tiers that `tierOf` says, under their own ids. */
export async function writeAll(
  url: string,
  docs: readonly Doc[],
  tierOf: (doc: Doc) => string,
): Promise<void> {
  for (let start = 0; start < docs.length; start += BATCH) {
    const records = docs
      .slice(start, start + BATCH)
      .map((doc) => ({ id: doc.id, content: doc.text, tier: tierOf(doc) }))
    await call(url, 'memory/remember', { records })
  }
}

/** Asks everything once, one after the other, and takes no answer that lacks a store. */
export async function askAll(url: string, { questions }: Collection): Promise<string[][]> {
  const answers: string[][] = []
  for (const question of questions) answers.push(await ask(url, question))
  return answers
}

async function ask(url: string, { text }: Question): Promise<string[]> {
  const answer = await call(url, 'memory/recall', { query: text, limit: DEPTH })
  if (answer.federation?.partial) throw new Error(`a store did not answer: ${text}`)
  return (answer.records ?? []).map(({ id }) => id)
}
