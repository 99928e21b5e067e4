import { matches, type Where } from '../protocol/matches.js'
import type { MemoryRecord } from '../protocol/records.js'
import type { Owner } from '../protocol/scope.js'
import type { Partition, Partitions } from './partitions.js'
import { byAge, type RecordsTable, type Row, toRecord } from './records-table.js'

/** What narrows a call down, all joined by AND; an absent one narrows nothing. */
export interface Selectors {
  readonly owner: Owner
  readonly tier?: string | undefined
  readonly where?: Where | undefined
  readonly ids?: readonly string[] | undefined
}

/** A row that was selected, with the record that it makes. */
export interface Selected {
  readonly row: Row
  readonly record: MemoryRecord
}

/** The values that a record's text field may have, null for absent; undefined where it may have any. */
type Wanted = ReadonlySet<string | null> | undefined

/** The records that selectors leave, and the cheapest ways to them; `matches` has the last word on each. */
export class Selection {
  readonly partitions: ReadonlyMap<number, Partition>
  readonly #ids: readonly string[] | undefined
  readonly #groups: readonly string[] | undefined
  readonly #where: Where
  readonly #records: RecordsTable

  constructor(selectors: Selectors, partitions: Partitions, records: RecordsTable) {
    const { owner, tier, where = {}, ids } = selectors
    const tiers = wanted(where, 'tier')
    const owners = wanted(where, 'owner')
    this.partitions = new Map(
      partitions
        .of(owner)
        .filter((part) => tier === undefined || part.tier === tier)
        .filter((part) => tiers?.has(part.tier) ?? true)
        .filter((part) => owners?.has(part.owner) ?? true)
        .map((part) => [part.no, part]),
    )
    this.#ids = both(ids, texts(wanted(where, 'id')))
    const groups = wanted(where, 'group')
    this.#groups = groups?.has(null) ? undefined : texts(groups)
    this.#where = where
    this.#records = records
  }

  /** The records themselves, newest first, where ids or groups name few; undefined where an index has to find them. */
  few(): readonly Selected[] | undefined {
    const rows = this.#named()
    return rows && [...this.#kept(rows.toSorted(byAge))]
  }

  /** Every record selected, newest first; nothing may be written before the walk ends. */
  all(): Iterable<Selected> {
    return this.few() ?? this.#kept(this.#records.newest([...this.partitions.keys()]))
  }

  /** A row as selected, or undefined where it is not. */
  keep(row: Row): Selected | undefined {
    const partition = this.partitions.get(row.partitionNo)
    if (partition === undefined) return undefined
    const record = toRecord(row, partition)
    return matches(record, this.#where) ? { row, record } : undefined
  }

  *#kept(rows: Iterable<Row>): Generator<Selected> {
    for (const row of rows) {
      const selected = this.keep(row)
      if (selected !== undefined) yield selected
    }
  }

  #named(): readonly Row[] | undefined {
    const owner = this.#onlyOwner()
    if (this.#ids !== undefined) return this.#ids.flatMap((id) => this.#records.withId(id, owner))
    return this.#groups?.flatMap((group) => this.#records.inGroup(group, owner))
  }

  #onlyOwner(): number | undefined {
    const owners = new Set([...this.partitions.values()].map(({ ownerNo }) => ownerNo))
    const [only] = owners
    return owners.size === 1 ? only : undefined
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

function both(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): readonly string[] | undefined {
  if (left === undefined) return right
  if (right === undefined) return [...new Set(left)]
  const among = new Set(left)
  return right.filter((one) => among.has(one))
}
