import type { MemoryRecord } from '../../../src/protocol/records.js'

/** A record as the model has it: what callers said, and what must never change again. */
export interface Known {
  readonly id: string
  readonly owner: string
  content: string
  tier: string
  session: string | undefined
  group: string | undefined
  readonly key: string | undefined
  metadata: string | undefined
  revision: number | undefined
  salience: number
  /** As it was first told; undefined until then. */
  created: string | undefined
}

/** What is written, as a caller says it. */
export interface Wanted {
  readonly id?: string
  readonly content: string
  readonly tier?: string
  readonly session?: string
  readonly group?: string
  readonly key?: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** The whole memory as it should be, in the simplest way there is. */
export class MemoryModel {
  readonly #records = new Map<string, Known>()
  readonly #defaultTier: string

  constructor(defaultTier: string) {
    this.#defaultTier = defaultTier
  }

  of(owner: string): Known[] {
    return [...this.#records.values()].filter((record) => record.owner === owner)
  }

  get(owner: string, id: string): Known | undefined {
    return this.#records.get(`${owner}/${id}`)
  }

  withKey(owner: string, key: string): Known | undefined {
    return this.of(owner).find((record) => record.key === key)
  }

  /** A new record under the id that it was given. */
  add(owner: string, id: string, wanted: Wanted): Known {
    const { content, tier = this.#defaultTier, session, group, key, metadata } = wanted
    const known: Known = {
      id,
      owner,
      content,
      tier,
      session,
      group,
      key,
      metadata: metadata && JSON.stringify(metadata),
      revision: key === undefined ? undefined : 0,
      salience: 1,
      created: undefined,
    }
    this.#records.set(`${owner}/${id}`, known)
    return known
  }

  /** A write to an occupied key: the record stays, what it says is new (§3.6). */
  replace(known: Known, { content, tier, session, group, metadata }: Wanted): void {
    Object.assign(known, {
      content,
      tier: tier ?? known.tier,
      session,
      group,
      metadata: metadata && JSON.stringify(metadata),
      revision: (known.revision ?? 0) + 1,
    })
  }

  remove({ owner, id }: Known): void {
    this.#records.delete(`${owner}/${id}`)
  }

  /** The records and all others of their groups. */
  whole(records: readonly Known[]): Known[] {
    const groups = new Set(
      records.flatMap(({ owner, group }) => (group ? `${owner}/${group}` : [])),
    )
    const others = [...this.#records.values()].filter(
      ({ owner, group }) => group !== undefined && groups.has(`${owner}/${group}`),
    )
    return [...new Set([...records, ...others])]
  }
}

/** A known record as a store would tell it, as far as the model knows. */
export function told(known: Known): object {
  const { salience: _, created: __, metadata, ...rest } = known
  return { ...rest, metadata: metadata ?? null }
}

/** What a store tells of a record, in the model's words. */
export function toldBy(record: MemoryRecord): object {
  const { id, owner, content, tier, session, group, key, revision, metadata } = record
  return {
    id,
    owner,
    content,
    tier,
    session,
    group,
    key,
    revision: key === undefined ? undefined : revision,
    metadata: metadata?.text ?? null,
  }
}
