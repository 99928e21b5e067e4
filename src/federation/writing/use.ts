import type { Context } from '../../protocol/memory.js'
import type { MemoryRecord } from '../../protocol/records.js'
import { type Owner, ownerKey } from '../../protocol/scope.js'
import type { Clock } from '../../protocol/time.js'
import { identityOf } from '../../upstreams/translate.js'
import { internalContext } from '../../upstreams/upstream.js'
import { ask } from '../fan-out.js'
import type { Source } from '../layout.js'
import { holder } from '../locate.js'
import type { RankedList } from '../ranking/fuse.js'

/** Lists that were asked for quietly, and the records of theirs that went out to a caller. */
export interface Given {
  readonly sources: readonly Source[]
  readonly lists: readonly RankedList[]
  readonly records: readonly MemoryRecord[]
  readonly observe: Context['observe']
}

/** Ids in one telling. */
const IDS_PER_TELLING = 500
/** How long a telling may take, in ms; nobody waits for it. */
const PATIENCE = 30_000

/**
 * Whether an upstream counts the use of its records and is told of it by us: it is asked for more than goes out, and so is asked
 * quietly. One that does not know the extension counts however it counts.
 */
export function isToldOfUse({ writable, profile }: Source): boolean {
  return writable && profile.extended && profile.capabilities.has('salience')
}

/** What one owner's records at one upstream are used for, and has not been told yet. */
interface Account {
  readonly source: Source
  readonly owner: string | null
  readonly observe: Context['observe']
  /** Uses by id. */
  readonly untold: Map<string, number>
  /** The telling that is under way. */
  telling: Promise<unknown>
}

/**
 * Tells upstreams which records went out, after the answer has: at once where nothing is being told there, and otherwise
 * together with all that comes meanwhile. What cannot be told is lost, and the answer is not.
 */
export class Uses {
  readonly #clock: Clock
  readonly #accounts = new Map<string, Account>()
  #given: Given[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Costs the call nothing but this: the rest is done once its answer is on the way. */
  note(given: Given): void {
    if (given.records.length === 0 || !given.sources.some(isToldOfUse)) return
    this.#given.push(given)
    if (this.#given.length === 1) setImmediate(() => this.#spread())
  }

  /** Waits until what was noted of an owner's records so far has been told; undefined is everybody's. */
  async settled(owner: Owner): Promise<void> {
    this.#spread()
    const concerned = [...this.#accounts.values()].filter(
      (account) => owner === undefined || account.owner === owner,
    )
    await Promise.all(
      concerned.map(async (account) => {
        await account.telling
        await account.telling
      }),
    )
  }

  #spread(): void {
    const given = this.#given
    this.#given = []
    for (const one of given) for (const used of usedIn(one)) this.#count(used, one.observe)
  }

  #count({ source, record, hereId }: Used, observe: Context['observe']): void {
    const owner = holder(record)
    const key = ownerKey(owner) + source.name
    const open = this.#accounts.get(key)
    const account = open ?? { source, owner, observe, untold: new Map(), telling: NOTHING }
    account.untold.set(hereId, (account.untold.get(hereId) ?? 0) + 1)
    if (open !== undefined) return
    this.#accounts.set(key, account)
    void this.#tellAll(key, account)
  }

  /** The first telling begins once all that was noted together is counted. */
  async #tellAll(key: string, account: Account): Promise<void> {
    account.telling = Promise.resolve().then(() => this.#tell(account))
    await account.telling
    while (account.untold.size > 0) {
      account.telling = this.#tell(account)
      await account.telling
    }
    this.#accounts.delete(key)
  }

  /** One use of each: an id that was used twice is told again in the next. */
  #tell({ source, owner, observe, untold }: Account): Promise<unknown> {
    const ids = [...untold.keys()].slice(0, IDS_PER_TELLING)
    for (const id of ids) {
      const left = (untold.get(id) ?? 1) - 1
      if (left > 0) untold.set(id, left)
      else untold.delete(id)
    }
    const context = { ...internalContext(this.#clock.monotonic() + PATIENCE), observe }
    const params = source.translation.using(ids, owner)
    return ask('memory/reinforce', { source, params, owner }, context, this.#clock)
  }
}

const NOTHING = Promise.resolve()

interface Used {
  readonly source: Source
  readonly record: MemoryRecord
  readonly hereId: string
}

/** The records of the lists that went out, by whatever name. */
function usedIn({ sources, lists, records }: Given): Used[] {
  const out = new Set(records.map(identityOf))
  return sources.filter(isToldOfUse).flatMap((source) => {
    const list = lists.find(({ name }) => name === source.name)
    const went = (list?.arrived ?? []).filter(({ record }) => {
      const qualified = { ...record, id: list?.qualify(record.id) ?? record.id }
      return out.has(identityOf(record)) || out.has(identityOf(qualified))
    })
    return went.map(({ record }) => {
      return { source, record, hereId: source.translation.idHere(record.id) ?? record.id }
    })
  })
}
