import { overriding } from '../../digest/overriding.js'
import { copyWith } from '../../protocol/copy.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { Memory } from '../../protocol/memory.js'
import type { ResultOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'

/** How many times as many are asked for where those that were hidden took the places of others. */
const WIDER = 4

export interface Veil {
  /** Whether a record, as the upstream tells it, is there for the caller. */
  readonly shows: (record: MemoryRecord) => boolean
  /** How many can be asked for at the most, where so many are wanted. */
  readonly clamp: (limit: number) => number
}

/**
 * An upstream some of whose records are not there for a caller. No test that it could be told leaves those out, so that it is
 * asked for more and more until as many others came as were wanted, or nothing more comes.
 */
export function veiled(memory: Memory, veil: Veil): Memory {
  return overriding(memory, {
    'memory/recall': ({ limit = 0, ...params }, context) => {
      const ask = (wider: number) =>
        memory.call('memory/recall', { ...params, limit: wider }, context)
      return widened(limit, veil, ask, (shown) => shown.slice(0, limit))
    },
    'memory/timeline': ({ limit = 0, ...params }, context) => {
      const ask = (wider: number) =>
        memory.call('memory/timeline', { ...params, limit: wider }, context)
      return widened(limit, veil, ask, (shown) => shown.slice(-limit))
    },
  })
}

type Found = Partial<ResultOf<'memory/recall'>> & Pick<ResultOf<'memory/recall'>, 'records'>

/** `cut` takes of the places of the records that are there, which are more than were wanted, those that count. */
async function widened<R extends Found>(
  wanted: number,
  { shows, clamp }: Veil,
  ask: (limit: number) => Promise<R>,
  cut: (shown: readonly number[]) => readonly number[],
): Promise<R> {
  for (let limit = wanted; ; limit = clamp(limit * WIDER)) {
    const result = await ask(limit)
    const { records } = result
    if (wanted === 0) return result
    const shown = [...records.keys()].filter((index) => isShownAt(records, index, shows))
    const ended = records.length < limit || clamp(limit * WIDER) <= limit
    if (shown.length < wanted && !ended) continue
    return records.length <= wanted ? result : only(result, cut(shown))
  }
}

function isShownAt(records: readonly MemoryRecord[], index: number, shows: Veil['shows']): boolean {
  const record = records[index]
  return record !== undefined && shows(record)
}

/** The records at these places, and what is told of each beside it. */
function only<R extends Found>(result: R, places: readonly number[]): R {
  const records = places.flatMap((place) => result.records[place] ?? [])
  const told = result[EXTENSION]?.similarities
  if (told === undefined) return copyWith(result, { records } as Partial<R>)
  const similarities = places.map((place) => told[place] ?? null)
  return copyWith(result, { records, [EXTENSION]: { similarities } } as Partial<R>)
}
