import { copyWith } from '../protocol/copy.js'
import { inKeyRange, type KeyRange, keyRange } from '../protocol/key-prefix.js'
import { matches, type Where } from '../protocol/matches.js'
import type { MemoryRecord } from '../protocol/records.js'
import type { Owner } from '../protocol/scope.js'
import type { Partition, Partitions } from './partitions.js'
import type { RecordsTable } from './records-table.js'
import { byAge, type Row, toRecord } from './rows.js'
import type { Vectors } from './vectors.js'

/** What narrows a call down, all joined by AND; an absent one narrows nothing. */
export interface Selectors {
  readonly owner: Owner
  readonly tier?: string | undefined
  readonly where?: Where | undefined
  readonly ids?: readonly string[] | undefined
  readonly keyPrefix?: string | undefined
}

/** What a selection is made over. */
export interface Shelves {
  readonly partitions: Partitions
  readonly records: RecordsTable
  readonly vectors: Vectors
}

/** A row that was selected; the record that it makes is made when it is looked at. */
export class Selected {
  readonly row: Row
  readonly #partition: Partition
  #record: MemoryRecord | undefined

  constructor(row: Row, partition: Partition) {
    this.row = row
    this.#partition = partition
  }

  get record(): MemoryRecord {
    this.#record ??= toRecord(this.row, this.#partition)
    return this.#record
  }
}

/** The values that a record's text field may have, null for absent; undefined where it may have any. */
type Wanted = ReadonlySet<string | null> | undefined

/** So many records of a session or beneath a prefix are looked at one by one; more are found through the index of words. */
const MOST_FEW = 1_000

/** The records that selectors leave, and the cheapest ways to them; `matches` has the last word on each. */
export class Selection {
  readonly partitions: ReadonlyMap<number, Partition>
  readonly #ids: readonly string[] | undefined
  readonly #keys: readonly string[] | undefined
  readonly #groups: readonly string[] | undefined
  readonly #sessions: readonly string[] | undefined
  readonly #range: KeyRange | undefined
  readonly #where: Where
  readonly #tested: boolean
  readonly #shelves: Shelves

  constructor(selectors: Selectors, shelves: Shelves) {
    const { owner, tier, where = {}, ids, keyPrefix } = selectors
    const tiers = wanted(where, 'tier')
    const owners = wanted(where, 'owner')
    this.partitions = new Map(
      shelves.partitions
        .of(owner)
        .filter((part) => tier === undefined || part.tier === tier)
        .filter((part) => tiers?.has(part.tier) ?? true)
        .filter((part) => owners?.has(part.owner) ?? true)
        .map((part) => [part.no, part]),
    )
    this.#ids = both(ids, texts(wanted(where, 'id')))
    this.#keys = present(wanted(where, 'key'))
    this.#groups = present(wanted(where, 'group'))
    this.#sessions = present(wanted(where, 'session'))
    this.#range = keyPrefix === undefined ? undefined : keyRange(keyPrefix)
    this.#where = where
    this.#tested = Object.keys(where).length > 0
    this.#shelves = shelves
  }

  /** The records themselves, newest first, where the selectors name few; undefined where an index has to find them. */
  few(): readonly Selected[] | undefined {
    const rows = this.#named() ?? this.#listed(MOST_FEW)
    return rows && [...this.#kept(rows.toSorted(byAge))]
  }

  /** Every record selected, newest first; nothing may be written before the walk ends. */
  all(): Iterable<Selected> {
    const { records } = this.#shelves
    const rows = this.#named() ?? this.#session() ?? this.#listed(Infinity)
    if (Array.isArray(rows)) return this.#kept(rows.toSorted(byAge))
    return this.#kept(rows ?? records.newest([...this.partitions.keys()]))
  }

  /** A row as selected, or undefined where it is not. */
  keep(row: Row): Selected | undefined {
    const partition = this.partitions.get(row.partitionNo)
    if (partition === undefined) return undefined
    if (this.#range !== undefined && !inKeyRange(row.key, this.#range)) return undefined
    const selected = new Selected(row, partition)
    return !this.#tested || this.#matches(selected) ? selected : undefined
  }

  /** The row of that number as selected, or undefined where it is not. */
  at(seq: number): Selected | undefined {
    const row = this.#shelves.records.at(seq)
    return row && this.keep(row)
  }

  /** A vector is no field of a record until it is asked for. */
  #matches({ row, record }: Selected): boolean {
    if (!Object.hasOwn(this.#where, 'embedding')) return matches(record, this.#where)
    const embedding = this.#shelves.vectors.of(row.seq)
    return matches(embedding ? copyWith(record, { embedding }) : record, this.#where)
  }

  *#kept(rows: Iterable<Row>): Generator<Selected> {
    for (const row of rows) {
      const selected = this.keep(row)
      if (selected !== undefined) yield selected
    }
  }

  /** By what names one record, or as few as a group has. */
  #named(): readonly Row[] | undefined {
    const { records } = this.#shelves
    const owner = this.#onlyOwner()
    if (this.#ids !== undefined) return this.#ids.flatMap((id) => records.withId(id, owner))
    const keys = this.#keys
    if (keys !== undefined) {
      return [...this.#owners()].flatMap((no) =>
        keys.flatMap((key) => records.atKey(key, no) ?? []),
      )
    }
    return this.#groups?.flatMap((group) => records.inGroup(group, owner))
  }

  /** By prefix or session; undefined where neither is named or there are more than `most`. */
  #listed(most: number): readonly Row[] | undefined {
    const { records } = this.#shelves
    const range = this.#range
    const rows: Row[] = []
    for (const no of this.#owners()) {
      if (range !== undefined) rows.push(...records.inRange(range, no, most + 1))
      else if (this.#sessions === undefined) return undefined
      else for (const name of this.#sessions) rows.push(...records.inSession(name, no, most + 1))
      if (rows.length > most) return undefined
    }
    return rows
  }

  /** One owner's one session in its own order, which need not be read to its end. */
  #session(): Iterable<Row> | undefined {
    const owner = this.#onlyOwner()
    const [session, ...others] = this.#sessions ?? []
    if (owner === undefined || session === undefined || others.length > 0) return undefined
    return this.#range === undefined ? this.#shelves.records.walkSession(session, owner) : undefined
  }

  #onlyOwner(): number | undefined {
    const [only, ...others] = this.#owners()
    return others.length === 0 ? only : undefined
  }

  #owners(): ReadonlySet<number> {
    return new Set([...this.partitions.values()].map(({ ownerNo }) => ownerNo))
  }
}

/** Reads the test of one text field: a value of another type equals no text, and null equals an absent one. */
function wanted(where: Where, name: string): Wanted {
  if (!Object.hasOwn(where, name)) return undefined
  const value = where[name]
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return new Set(values.map((one) => one ?? null).filter(isTextOrNull))
}

function isTextOrNull(value: unknown): value is string | null {
  return typeof value === 'string' || value === null
}

function texts(values: Wanted): readonly string[] | undefined {
  return values && [...values].filter((value) => value !== null)
}

/** The texts, where absence is not wanted too. */
function present(values: Wanted): readonly string[] | undefined {
  return values?.has(null) ? undefined : texts(values)
}

function both(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): readonly string[] | undefined {
  if (left === undefined) return right
  if (right === undefined) return [...new Set(left)]
  const among = new Set(left)
  return right.filter((one) => among.has(one))
}
