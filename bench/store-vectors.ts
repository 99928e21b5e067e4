import type { Random } from './zipf.js'

const BATCH = 100
const WIDTH = 768

/** Calls a store. */
export type Ask = (method: 'memory/remember' | 'memory/recall', params: object) => Promise<unknown>

function vectorOf(random: Random): number[] {
  return Array.from({ length: WIDTH }, () => random() * 2 - 1)
}

/** Fills a store with records that have a vector of 768 numbers each. */
export async function writeVectors(
  ask: Ask,
  vectors: number,
  { random, text }: { readonly random: Random; readonly text: () => string },
): Promise<void> {
  for (let written = 0; written < vectors; written += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, vectors - written) }, () => ({
      content: text(),
      embedding: vectorOf(random),
    }))
    await ask('memory/remember', { records })
  }
}

/** The recalls that are timed, by what they are called. */
export function vectorRecalls(
  ask: Ask,
  { random, text }: { readonly random: Random; readonly text: () => string },
): Readonly<Record<string, () => Promise<unknown>>> {
  const recall = (params: object) => () =>
    ask('memory/recall', { embedding: vectorOf(random), ...params })
  return {
    'by vector': recall({}),
    'by vector, vectors with the answer': recall({ embeddings: true }),
    'by vector and three words': () => recall({ query: text().split(' ').slice(0, 3).join(' ') })(),
    'by vector, where nothing passes': recall({ where: { role: 'nobody' } }),
  }
}
