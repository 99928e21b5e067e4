import { z } from 'zod'
import { type Carried, EXTENSION } from '../protocol/extension.js'
import { carriedSchema } from '../protocol/extension-schemas.js'
import { JsonText } from '../protocol/json.js'
import type { Where } from '../protocol/matches.js'
import { withMember, withoutMember } from '../protocol/members.js'
import { BROUGHT_BY } from '../protocol/methods.js'
import type { Entry, MemoryRecord } from '../protocol/records.js'
import { parseInstant } from '../protocol/time.js'
import type { UpstreamProfile } from './profile.js'

/** In metadata at an upstream that knows no owners: whose a record is, and that it had metadata without any members. */
export const OWNER_MEMBER = `${EXTENSION}-owner`
export const EMPTY_MEMBER = `${EXTENSION}-empty`

const OF_OWNERS = [OWNER_MEMBER, EMPTY_MEMBER] as const
const RESERVED = [EXTENSION, ...OF_OWNERS] as const

/** The first name in metadata, or in a `where`, that is not a caller's to set or to test. */
export function reservedIn(named: unknown): string | undefined {
  return firstIn(named, RESERVED)
}

/** The first name in metadata, or in a `where`, by which owners are kept apart at an upstream. */
export function ownersIn(named: unknown): string | undefined {
  return firstIn(named, OF_OWNERS)
}

function firstIn(named: unknown, names: readonly string[]): string | undefined {
  if (typeof named !== 'object' || named === null) return undefined
  return names.find((name) => Object.hasOwn(named, name))
}

/** What reserved metadata holds; `bare` where the record had no metadata of its own. */
const reservedSchema = carriedSchema.extend({ bare: z.literal(true).optional() })

type Untellable = keyof typeof BROUGHT_BY
const UNTELLABLE = Object.keys(BROUGHT_BY) as readonly Untellable[]

/** Parts an entry into what a store of these capabilities can be told and what it would ignore (§4.2). */
function partUntold<E extends Entry>(
  entry: E,
  capabilities: ReadonlySet<string>,
): { readonly told: E; readonly untold: Carried | undefined } {
  const names = UNTELLABLE.filter(
    (name) => entry[name] !== undefined && !capabilities.has(BROUGHT_BY[name]),
  )
  if (names.length === 0) return { told: entry, untold: undefined }
  const told = { ...entry }
  const untold: Carried = {}
  for (const name of names) {
    Object.assign(untold, { [name]: entry[name] })
    delete told[name]
  }
  return { told, untold }
}

/** What decides how an upstream is told what a record brings along. */
type Teller = Pick<UpstreamProfile, 'capabilities' | 'extended'>

/**
 * An entry as an upstream is told it: what it would ignore, and what no field can say, goes beside it (`carried`) where the
 * upstream knows the extension, and into reserved metadata elsewhere.
 */
export function pack(
  entry: Entry,
  carried: Carried | undefined,
  { capabilities, extended }: Teller,
): { readonly entry: Entry; readonly carried: Carried | null } {
  const { told, untold } = partUntold(entry, capabilities)
  if (carried === undefined && untold === undefined) return { entry: told, carried: null }
  const all = { ...carried, ...untold }
  if (extended) return { entry: told, carried: all }
  return { entry: { ...told, metadata: reserve(told.metadata, all) }, carried: null }
}

/** Fields of a record that no entry can say, whatever a store declares. */
const UNSAYABLE: ReadonlySet<string> = new Set([
  'created_at',
  'accessed_at',
  'access_count',
  'revision',
  'metadata',
])
const NEEDS: ReadonlyMap<string, string> = new Map(Object.entries(BROUGHT_BY))

/** Whether an upstream may hold a field otherwise than it is shown, so that it cannot be trusted with a test of it. */
export function isHeldOtherwise(field: string, { capabilities, extended }: Teller): boolean {
  if (extended) return false
  const capability = NEEDS.get(field)
  return UNSAYABLE.has(field) || (capability !== undefined && !capabilities.has(capability))
}

/** What a store must declare to hold a field at all. */
const KEPT_BY: ReadonlyMap<string, string> = new Map([
  ...NEEDS,
  ['accessed_at', 'salience'],
  ['access_count', 'salience'],
  ['revision', 'keys'],
])

/**
 * The capability for want of which no record that was written to a store by others can pass a `where`; undefined where one could. A
 * test that null passes is passed by what is not there.
 */
export function lackingFor(where: Where, { capabilities, extended }: Teller): string | undefined {
  if (extended) return undefined
  for (const [field, wanted] of Object.entries(where)) {
    const capability = KEPT_BY.get(field)
    const absent = Array.isArray(wanted) ? wanted.includes(null) : wanted === null
    if (capability !== undefined && !capabilities.has(capability) && !absent) return capability
  }
  return undefined
}

/** Metadata that also holds what its upstream could not be told; the rest of it stays to the letter. */
function reserve(metadata: JsonText | undefined, carried: Carried): JsonText {
  return withMember(
    metadata,
    EXTENSION,
    metadata === undefined ? { ...carried, bare: true } : carried,
  )
}

/** A record as it is shown, and what of it stands in reserved metadata. */
export interface Restored {
  readonly record: MemoryRecord
  readonly carried: Carried | undefined
}

/** Puts back what a record carries in reserved metadata, and takes that out of sight. */
export function restore(raw: MemoryRecord): Restored {
  if (raw.metadata === undefined || !raw.metadata.text.includes(EXTENSION)) return untouched(raw)
  const { value, rest } = withoutMember(raw.metadata, EXTENSION)
  const reserved = reservedSchema.safeParse(value)
  if (!reserved.success) return untouched(raw)
  const { bare, ...carried } = reserved.data
  const { metadata: _, ...plain } = raw
  const own = bare ? {} : { metadata: rest ?? new JsonText('{}') }
  return { record: { ...carried, ...plain, ...summed(raw, carried), ...own }, carried }
}

function untouched(record: MemoryRecord): Restored {
  return { record, carried: undefined }
}

/** What the store has counted since the record came counts on top of what it came with. */
function summed(raw: MemoryRecord, carried: Carried): Partial<MemoryRecord> {
  const { created_at = raw.created_at, revision, access_count, accessed_at } = carried
  return {
    created_at,
    ...(revision === undefined ? {} : { revision: revision + (raw.revision ?? 0) }),
    ...(access_count === undefined ? {} : { access_count: access_count + (raw.access_count ?? 0) }),
    ...(accessed_at === undefined ? {} : { accessed_at: later(accessed_at, raw.accessed_at) }),
  }
}

function later(left: string, right: string | undefined): string {
  if (right === undefined) return left
  return (parseInstant(right) ?? 0) > (parseInstant(left) ?? 0) ? right : left
}
