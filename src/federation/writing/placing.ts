import { invalidParams } from '../../protocol/errors.js'
import type { Carried } from '../../protocol/extension.js'
import type { Outbound } from '../../upstreams/phrasing.js'
import { grouped } from '../grouping.js'
import { addressOf } from '../keys.js'
import type { Source, TierLayout } from '../layout.js'
import type { Located } from '../locate.js'
import type { WrittenRecord } from '../log/chronicle.js'
import type { Parts } from '../parts.js'
import { homeOf, type Prepared, wanted } from './prepare.js'

/** What a call does at one key: all its entries for it go to one record, wherever that is. */
export interface Slot {
  readonly owner: string | null
  readonly key: string
  /** What stands at the key already. */
  readonly held: Located | undefined
  readonly source: Source
  /** Where the record is, or will be made. */
  readonly tier: string
  /** Where it is to be instead: the tier of the last entry that names one. */
  readonly goesTo: TierLayout | undefined
  /** The id that it has or will have. */
  readonly id: string
  readonly path: string
}

/** An entry with its destination. */
export interface Placed extends Outbound {
  readonly source: Source
  /** It makes a record under an id that the caller gave. */
  readonly named: boolean
  readonly slot: Slot | undefined
  /** What its record's revision will be; undefined where nobody can tell. */
  readonly revision: number | undefined
}

/** Entries for one upstream, in their order. */
export interface Part {
  readonly source: Source
  readonly items: readonly Placed[]
}

/** What records are called that entries with keys made or rewrote; all other records have the ids of their entries. */
export type Answered = Map<Placed, string>

export interface Placement {
  /** What is to be written, in the order of the batch. */
  readonly items: readonly Placed[]
  /** For each entry of the batch: what writes it, or the id that is there already. */
  readonly outcomes: readonly (Placed | string)[]
  /** Keys that are occupied. */
  readonly held: readonly Slot[]
  /** Those whose records have to go to another tier first. */
  readonly moves: readonly Slot[]
}

/** What exists: ids as `wanted` names them, records at keys by their address. */
export interface Existing {
  readonly ids: ReadonlySet<string>
  readonly held: ReadonlyMap<string, Located>
}

/** Entries without ids of callers and without keys: each goes to its home. */
export function placeNew(prepared: readonly Prepared[]): Placement {
  const items = prepared.map((item): Placed => {
    const { entry, carried } = item
    return {
      entry,
      carried,
      source: homeOf(item),
      named: false,
      slot: undefined,
      revision: undefined,
    }
  })
  return { items, outcomes: items, held: [], moves: [] }
}

/**
 * Decides what becomes of each entry, as if they came one after the other: an id that exists wins over a key; entries of one key
 * make and then rewrite one record; the last tier that is named for a key is where it ends up.
 */
export function place(parts: Parts, prepared: readonly Prepared[], existing: Existing): Placement {
  const steps = inTurn(prepared, existing)
  const slots = new Map<string, Slot>()
  for (const [address, items] of steps.byKey) {
    slots.set(address, slotOf(items, existing.held.get(address)))
  }
  const written = new Map<Slot, number>()
  const outcomes = steps.entries.map((step): Placed | string => {
    if (typeof step === 'string') return step
    const slot = slots.get(keyOf(step) ?? '')
    if (slot === undefined) return plain(step)
    const before = written.get(slot) ?? 0
    written.set(slot, before + 1)
    return keyed(parts, step, slot, before)
  })
  const items = outcomes.filter((outcome) => typeof outcome !== 'string')
  const held = [...slots.values()].filter((slot) => slot.held)
  return { items, outcomes, held, moves: held.filter((slot) => slot.goesTo) }
}

interface Turns {
  /** In the order of the batch: an entry to write, or the id that is there already. */
  readonly entries: readonly (Prepared | string)[]
  readonly byKey: ReadonlyMap<string, readonly [Prepared, ...Prepared[]]>
}

function inTurn(prepared: readonly Prepared[], { ids, held }: Existing): Turns {
  const seen = new Set(ids)
  const byKey = new Map<string, [Prepared, ...Prepared[]]>()
  const entries = prepared.map((item) => {
    const name = wanted(whose(item), item.entry.id)
    if (seen.has(name)) return item.entry.id
    const address = keyOf(item)
    const occupied = address !== undefined && (held.has(address) || byKey.has(address))
    if (!occupied) seen.add(name)
    if (address !== undefined) enlist(byKey, address, item)
    return item
  })
  return { entries, byKey }
}

function enlist<T>(lists: Map<string, [T, ...T[]]>, name: string, item: T): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [item])
  else list.push(item)
}

/** The owner of an entry, null where it has none. */
export function whose({ entry }: Outbound): string | null {
  return entry.owner ?? null
}

/** The address of an entry's key; undefined where it has none. */
export function keyOf(item: Outbound): string | undefined {
  const { key } = item.entry
  return key === undefined ? undefined : addressOf({ owner: whose(item), key })
}

function slotOf(items: readonly [Prepared, ...Prepared[]], held: Located | undefined): Slot {
  const [first] = items
  const { owner = null, key = '', id } = first.entry
  const last = items.findLast(({ tiered }) => tiered)
  const { path } = last ?? first
  if (held === undefined) {
    const home = last ?? first
    const at = { source: homeOf(home), tier: home.tier.name, goesTo: undefined }
    return { owner, key, held, id, path, ...at }
  }
  const { source, record } = held
  if (!source.writable) {
    throw invalidParams(
      `${first.path}.key: the record at ${JSON.stringify(key.slice(0, 80))} is held by ${source.name}, which is read-only`,
    )
  }
  const tier = record.tier ?? ''
  const goesTo = last === undefined || last.tier.name === tier ? undefined : last.tier
  return { owner, key, held, id: record.id, path, source, tier, goesTo }
}

function plain(item: Prepared): Placed {
  const { entry, carried, named } = item
  return { entry, carried, source: homeOf(item), named, slot: undefined, revision: undefined }
}

/**
 * The entry that makes a record keeps its id. One that rewrites a record is given a new one, which comes to be used only where the
 * record is gone meanwhile: under an id that exists, nothing would be written.
 */
function keyed(parts: Parts, item: Prepared, slot: Slot, before: number): Placed {
  const makes = slot.held === undefined && before === 0
  const id = makes || !item.named ? item.entry.id : parts.newId()
  return {
    entry: { ...item.entry, id, tier: slot.tier },
    carried: item.carried ?? lasting(slot.held?.carried),
    source: slot.source,
    named: makes && item.named,
    slot,
    revision: makes ? (item.carried?.revision ?? 0) : revisionAfter(slot, before + 1),
  }
}

/** The revision of a slot's record after so many writes of this call; the first write makes it 0 (§3.6). */
function revisionAfter({ held }: Slot, writes: number): number | undefined {
  if (held === undefined) return writes - 1
  const { revision } = held.record
  return revision === undefined ? undefined : revision + writes
}

/** What of reserved metadata is the record's and not the content's. */
function lasting(carried: Carried | undefined): Carried | undefined {
  if (carried === undefined) return undefined
  const { created_at, accessed_at, access_count, revision } = carried
  return {
    ...(created_at === undefined ? {} : { created_at }),
    ...(accessed_at === undefined ? {} : { accessed_at }),
    ...(access_count === undefined ? {} : { access_count }),
    ...(revision === undefined ? {} : { revision }),
  }
}

/**
 * Entries by destination, in the order in which destinations come up. One call of an upstream that goes by tokens can be for one
 * owner alone.
 */
export function partsOf(items: readonly Placed[]): Part[] {
  return [...grouped(items, ({ source }) => source)].flatMap(([source, part]) =>
    source.upstream.config.owner === 'token'
      ? [...byOwner(part).values()].map((own) => ({ source, items: own }))
      : [{ source, items: part }],
  )
}

/** Entries by owner, null where they have none. */
export function byOwner<T extends Outbound>(items: readonly T[]): Map<string | null, T[]> {
  return grouped(items, whose)
}

/** What `written` tells of each record, once: as the last entry for it leaves it. `ids` are those that the upstreams answered. */
export function recordsOf(
  items: readonly Placed[],
  ids: ReadonlyMap<Placed, string>,
): WrittenRecord[] {
  const records = new Map<string, WrittenRecord>()
  for (const item of items) {
    const { entry, slot } = item
    const expected = slot?.id ?? entry.id
    const id = ids.get(item) ?? expected
    const { owner = null, session, key, tier } = entry
    const revision = id === expected ? item.revision : undefined
    const upstream = item.source.name
    records.set(wanted(owner, id), { id, owner, tier, session, key, revision, upstream })
  }
  return [...records.values()]
}
