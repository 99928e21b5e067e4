import { invalidParams } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { MemoryRecord } from '../protocol/records.js'
import { type Owner, ownerKey } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { ask } from './fan-out.js'
import type { Source } from './layout.js'
import { holder, type Located } from './locate.js'
import type { Parts } from './parts.js'
import { type KeysWanted, mixesOwners, needsOwner, type Target } from './plan.js'
import { arrive } from './reading/reading.js'

/** A key, and whose. */
export interface Address {
  readonly owner: Owner
  readonly key: string
}

/** Names an address, so that no owner's key can be another's. */
export function addressOf({ owner, key }: Address): string {
  return ownerKey(owner) + key
}

/**
 * Whether an upstream may hold records with keys. One that does not declare `keys` holds none but those that were moved to it and
 * carry theirs in reserved metadata.
 */
function mayHoldKeys(parts: Parts, { name, profile }: Source): boolean {
  return profile.capabilities.has('keys') || parts.carried.count(name) > 0
}

/** A prefix as a reading takes it; an empty one is absent. */
export function keysWanted(parts: Parts, prefix: string | undefined): KeysWanted | undefined {
  if (prefix === undefined || prefix === '') return undefined
  return { prefix, mayHold: (source) => mayHoldKeys(parts, source) }
}

/** What is wanted with the records that stand at keys. */
export interface LookupOptions {
  readonly embeddings: boolean
  /** The look-up is no use of the records. */
  readonly quiet: boolean
}

/** What stands at each key that was found, by `addressOf`, and the upstreams that may hold more and did not say. */
export interface KeysFound {
  readonly held: ReadonlyMap<string, Located>
  readonly silent: readonly string[]
}

/** Looks keys up at every upstream that could hold one (§3.6: one record a key and owner, in the whole federation). */
export async function findKeys(
  parts: Parts,
  addresses: readonly Address[],
  options: LookupOptions,
  context: Context,
): Promise<KeysFound> {
  const { sources, absent } = parts.layout()
  const keeping = sources.filter((source) => mayHoldKeys(parts, source))
  const silent = new Set(addresses.length === 0 ? [] : absent.keys())
  const held = new Map<string, Located>()
  const look = async (address: Address) => {
    const found = await findAmong(parts, address, { ...options, context, keeping, silent })
    const [first, ...others] = ranked(found, address.owner)
    if (first === undefined) return
    if (address.owner === undefined) refuseSeveral(found)
    held.set(addressOf(address), first)
    for (const other of others) blameTwin(parts, first, other)
  }
  await Promise.all(addresses.map(look))
  return { held, silent: [...silent] }
}

interface Among extends LookupOptions {
  readonly context: Context
  /** The upstreams that may hold keys. */
  readonly keeping: readonly Source[]
  /** Where those are added that did not say. */
  readonly silent: Set<string>
}

/** What all of them hold at one key, as far as they say. */
async function findAmong(
  parts: Parts,
  address: Address,
  { keeping, silent, ...options }: Among,
): Promise<readonly Located[]> {
  const { owner } = address
  const apart = keeping.filter((source) => !mixesOwners(source, owner))
  const unasked = apart.filter((source) => needsOwner(source, owner))
  if (owner === undefined) for (const { name } of unasked) silent.add(name)
  const asked = apart.filter((source) => !needsOwner(source, owner))
  const answers = await Promise.all(asked.map((source) => findAt(parts, source, address, options)))
  for (const [index, { name }] of asked.entries()) {
    if (answers[index] === undefined) silent.add(name)
  }
  return answers.flatMap((one) => one ?? [])
}

/** What one upstream holds at a key; undefined where it did not say. */
export async function findAt(
  parts: Parts,
  source: Source,
  { owner, key }: Address,
  { context, ...options }: LookupOptions & { readonly context: Context },
): Promise<readonly Located[] | undefined> {
  const { embeddings } = options
  const target = { source, tiers: source.tiers, where: { key }, embeddings }
  const raw = await rawAt(parts, target, { owner, key }, { ...options, context })
  if (raw === undefined) return undefined
  return arrive(parts, raw, target, owner).arrived.map((arrived) => ({
    source,
    hereId: source.translation.idHere(arrived.record.id) ?? arrived.record.id,
    ...arrived,
  }))
}

/**
 * By `fetch`, which is made for it; where that cannot say whose key is meant, where everybody's is, or where the key stands in
 * reserved metadata, by `where` on recall.
 */
async function rawAt(
  parts: Parts,
  { source, tiers, where }: Target,
  { owner, key }: Address,
  { context, embeddings, quiet }: LookupOptions & { readonly context: Context },
): Promise<readonly MemoryRecord[] | undefined> {
  const { translation } = source
  const params =
    owner === undefined ? undefined : translation.fetching(key, { owner, embeddings, quiet })
  if (params !== undefined) {
    const { result } = await ask('memory/fetch', { source, params, owner }, context, parts.clock)
    return result === undefined ? undefined : [result.record ?? []].flat()
  }
  const limit = owner === undefined ? 0 : 1
  const selection = { tiers, owner, where, limit, embeddings, quiet }
  const reading = { source, owner, params: translation.reading(selection, where) }
  const { result } = await ask('memory/recall', reading, context, parts.clock)
  return result?.records
}

/**
 * Of several records at one key, the one that counts comes first: the owner's own before common ground, and for everybody's that
 * without an owner; then the higher revision, then the later, then as the upstreams are configured.
 */
function ranked(located: readonly Located[], owner: Owner): Located[] {
  const foreign = ({ record }: Located) => Number(holder(record) !== (owner ?? null))
  return located.toSorted(
    (a, b) =>
      foreign(a) - foreign(b) ||
      (b.record.revision ?? 0) - (a.record.revision ?? 0) ||
      (parseInstant(b.at) ?? 0) - (parseInstant(a.at) ?? 0),
  )
}

/** A key is one owner's. Nobody's goes before; but of several owners' none is more the one that was meant. */
function refuseSeveral(found: readonly Located[]): void {
  const holders = new Set(found.map(({ record }) => holder(record)))
  if (holders.size > 1 && !holders.has(null)) {
    throw invalidParams('owner: several have that key; name one')
  }
}

/** While a record moves it is in two places; any other record of that owner at the key was written behind the gateway's back. */
function blameTwin(parts: Parts, { record }: Located, other: Located): void {
  const moving = other.record.id === record.id
  if (moving || holder(other.record) !== holder(record)) return
  parts.blame(other.source.name, 'duplicate_key', 1)
}
