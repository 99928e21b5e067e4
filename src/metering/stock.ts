import { messageOf } from '../protocol/errors.js'
import { type Method, type ParamsOf, SPECS } from '../protocol/methods.js'
import { type Owner, ownerKey } from '../protocol/scope.js'
import { measureEntries } from './measure.js'
import { clean } from './rollups.js'
import type { Amount, StockCount } from './stock-sums.js'

/** What an owner has in a tier now; characters where they were looked at. */
export interface TierStock {
  readonly tier: string
  readonly records: number
  readonly characters: number | undefined
}

export interface StockOptions {
  /** The gateway and its federation, by name. */
  readonly source: string
  readonly now: () => number
  /** Counts an owner's records by tier. `closely`: characters too. Rejects where nobody can say. */
  readonly count: (owner: Owner, how: 'closely' | 'records') => Promise<readonly TierStock[]>
  readonly note: (counts: readonly StockCount[]) => Promise<void>
  /** Where entries go that name no tier. */
  readonly defaultTier: () => string | undefined
  /** Something could not be counted or noted; for people. */
  readonly failed: (reason: string) => void
}

/** Ms between a write and the count that it causes: a burst of writes is counted once. */
const DELAY_MS = 2000
/** Ms between two owners, so that counting never takes more than a small part of the gateway's time. */
const PAUSE_MS = 50
/** Owners that wait to be counted; those beyond are counted at night. */
const MOST_WAITING = 50_000

interface Changed {
  readonly owner: Owner
  readonly written: Map<string, Amount>
}

/** Keeps the stock: an owner whose records were changed is counted a little later, as describe tells it. */
export class Stock {
  readonly #options: StockOptions
  readonly #changed = new Map<string, Changed>()
  #timer: NodeJS.Timeout | undefined
  #counting: Promise<void> = Promise.resolve()
  #ended = false

  constructor(options: StockOptions) {
    this.#options = options
  }

  /** A call has succeeded. */
  done<M extends Method>(method: M, params: ParamsOf<M>, owner: Owner): void {
    if (SPECS[method].kind !== 'write' || method === 'memory/reinforce') return
    if ('records' in params) this.#wrote(params, owner)
    else if (owner !== undefined) this.#mark(owner)
    this.#timer ??= this.#later(DELAY_MS)
  }

  /** Counts owners closely, one after the other; `owners` as `ownerKey` has them. */
  async countAll(owners: readonly string[]): Promise<void> {
    for (const key of owners) {
      if (this.#ended) return
      await this.#inTurn(() => this.#countOne(ownerOfKey(key), 'closely', new Map()))
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref())
    }
  }

  /** Lets the count that is under way end, and begins no more. */
  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    await this.#counting
  }

  #wrote({ records, owner: common }: ParamsOf<'memory/remember'>, owner: Owner): void {
    for (const entry of records) {
      const whose = owner === undefined ? (entry.owner ?? common ?? null) : owner
      const changed = this.#mark(whose)
      const tier = entry.tier ?? this.#options.defaultTier() ?? ''
      const before = changed?.written.get(tier)
      const { characters } = measureEntries([entry])
      changed?.written.set(tier, {
        records: (before?.records ?? 0) + 1,
        characters: (before?.characters ?? 0) + characters,
      })
    }
  }

  #mark(owner: Owner): Changed | undefined {
    const key = ownerKey(owner)
    const before = this.#changed.get(key)
    if (before !== undefined || this.#changed.size >= MOST_WAITING) return before
    const changed = { owner, written: new Map() }
    this.#changed.set(key, changed)
    return changed
  }

  #later(wait: number): NodeJS.Timeout | undefined {
    return this.#ended ? undefined : setTimeout(() => void this.#next(), wait).unref()
  }

  async #next(): Promise<void> {
    const [first] = this.#changed
    if (first !== undefined) {
      const [key, { owner, written }] = first
      this.#changed.delete(key)
      await this.#inTurn(() => this.#countOne(owner, 'records', written))
    }
    this.#timer = this.#changed.size > 0 ? this.#later(PAUSE_MS) : undefined
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    this.#counting = this.#counting.then(task)
    return this.#counting
  }

  async #countOne(
    owner: Owner,
    how: 'closely' | 'records',
    written: ReadonlyMap<string, Amount>,
  ): Promise<void> {
    const { source, now, count, note, failed } = this.#options
    const common = { source, owner: clean(ownerKey(owner)), at: now() }
    try {
      const tiers = await count(owner, how)
      await note(
        tiers.map(({ tier, ...amounts }) => ({
          ...common,
          ...amounts,
          tier: clean(tier),
          written: written.get(tier) ?? NOTHING,
        })),
      )
    } catch (thrown) {
      failed(messageOf(thrown))
    }
  }
}

const NOTHING: Amount = { records: 0, characters: 0 }

/** Reads back what `ownerKey` made of one owner or of none. */
function ownerOfKey(key: string): Owner {
  return key === 'none:' ? null : key.slice(key.indexOf(':') + 1)
}
