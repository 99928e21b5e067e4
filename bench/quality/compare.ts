import { join } from 'node:path'
import type { Place } from '../harness/gateway.js'
import { askAll, untilWhole, writeAll } from './calls.js'
import type { Collection } from './collection.js'
import { Stores, startStore, type Tuning, tierName } from './federation.js'
import { type Quality, rate } from './measures.js'
import { deal, type Split } from './splits.js'

/** How a gateway ranked over one split. */
export interface Compared {
  readonly plain: Quality
  /** With the voter, by frequencies learnt as the documents were written through the gateway. */
  readonly voter: Quality
  /** With the voter of a gateway that never saw a document but in answers, asked from the first question on. */
  readonly fromRecalls: Quality
}

/** What one built-in store that holds everything reaches, asked over HTTP without a gateway. */
export async function oneStore(place: Place, collection: Collection): Promise<Quality> {
  const path = join(place.scratch.folder(), 'all.db')
  const store = await startStore(place, { tier: 'all', path })
  const [url = ''] = store.urls
  await writeAll(url, collection.docs, () => 'all')
  const answers = await askAll(url, collection)
  await store.stop()
  return rate(collection.questions, answers)
}

export interface Trial {
  readonly split: Split
  readonly seed: number
  readonly tuning: Tuning
}

/** Deals the collection to stores through a gateway and asks everything, in each of the ways that are compared. */
export async function compare(
  place: Place,
  collection: Collection,
  { split, seed, tuning }: Trial,
): Promise<Compared> {
  const stores = new Stores(place, split.parts.length)
  await stores.open()
  const dealt = deal(collection.docs, split.parts, seed)
  const run = async (lexical: number, prepare?: (url: string) => Promise<void>) => {
    const gateway = await stores.gateway({ ...tuning, lexical })
    const [url = ''] = gateway.urls
    await untilWhole(url)
    await prepare?.(url)
    const answers = await askAll(url, collection)
    await gateway.stop()
    return rate(collection.questions, answers)
  }
  const load = (url: string) =>
    writeAll(url, collection.docs, ({ id }) => tierName(dealt.get(id) ?? 0))
  const voter = await run(tuning.lexical, load)
  const plain = await run(0)
  const fromRecalls = await run(tuning.lexical)
  await stores.close()
  return { plain, voter, fromRecalls }
}

/** The mean of several trials. */
export function mean(qualities: readonly Quality[]): Quality {
  const of = (name: keyof Quality): number =>
    qualities.reduce((sum, quality) => sum + quality[name], 0) / qualities.length
  return { ndcg: of('ndcg'), recall: of('recall') }
}
