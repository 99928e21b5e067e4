import { A2mError, invalidParams } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import { type Address, findKeys } from '../keys.js'
import type { Layout } from '../layout.js'
import { holder, type Located, locate, refuseAmbiguity, refuseSilence } from '../locate.js'
import { isBeyond } from '../moving/relocate.js'
import type { Parts } from '../parts.js'
import { byOwner, type Existing, keyOf, whose } from './placing.js'
import { type Prepared, wanted } from './prepare.js'

/**
 * Looks up which of the callers' ids exist, and what stands at the keys of the other entries: an id that exists wins over a key.
 * Looked for everywhere, since no record may be made twice; what is found where the caller's roles do not let it write is refused.
 */
export async function existing(
  parts: Parts,
  prepared: readonly Prepared[],
  context: Context,
): Promise<Existing> {
  const named = prepared.filter((item) => item.named)
  const ids = await existingIds(parts, named, context)
  const open = prepared.filter(
    (item) => item.entry.key !== undefined && !ids.has(wanted(whose(item), item.entry.id)),
  )
  // What may have to be put back is read whole.
  const embeddings = prepared.length > 1
  return { ids, held: await heldKeys(parts, open, embeddings, context) }
}

/** As `wanted` names them. Asks nobody where the only possible place keeps ids by owner itself and nobody counts. */
async function existingIds(
  parts: Parts,
  named: readonly Prepared[],
  context: Context,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>()
  const layout = parts.whole.layout()
  if (named.length === 0) return known
  const unasked = parts.reach === undefined && context.existed === undefined
  if (unasked && leftToTheStore(layout, named)) return known
  for (const [owner, items] of byOwner(named)) {
    const ids = items.map(({ entry }) => entry.id)
    const { located, silent } = await locate(parts.whole, { ids, owner }, context)
    refuseSilence(silent)
    refuseBeyond(parts, located)
    refuseAmbiguity(located, ids)
    for (const { record } of located) known.add(wanted(owner, record.id))
  }
  refuseQualified(layout, named, known)
  return known
}

function leftToTheStore({ sources, absent }: Layout, named: readonly Prepared[]): boolean {
  const [only] = sources
  const alone = sources.length === 1 && absent.size === 0 && only?.profile.extended === true
  return alone && named.every(({ entry }) => isLeft(only.translation.idHere(entry.id), entry))
}

/** With a key the gateway has to know whether the id is new before it decides what is written. */
function isLeft(idHere: string | undefined, entry: Prepared['entry']): boolean {
  return idHere === entry.id && entry.key === undefined
}

/**
 * `NAME:x` is how a record of that upstream is shown where it numbers its records itself, or where `x` alone would be
 * ambiguous. It is nobody's to give to a new record.
 */
function refuseQualified(
  layout: Layout,
  named: readonly Prepared[],
  known: ReadonlySet<string>,
): void {
  for (const { entry } of named) {
    const prefix = entry.id.slice(0, Math.max(0, entry.id.indexOf(':')))
    const taken = layout.sources.some(({ name }) => name === prefix)
    if (taken && !known.has(wanted(entry.owner ?? null, entry.id))) {
      throw invalidParams(
        `id: "${entry.id}" begins with the name of upstream ${prefix}, and no record is shown by it; choose another`,
      )
    }
  }
}

/** What stands at the entries' keys, of their owners alone. Where a key was not found, everybody must have been heard. */
async function heldKeys(
  parts: Parts,
  items: readonly Prepared[],
  embeddings: boolean,
  context: Context,
): Promise<ReadonlyMap<string, Located>> {
  const addresses = new Map(items.map((item) => [keyOf(item) ?? '', addressIn(item)]))
  const look = { embeddings, quiet: true }
  const { held, silent } = await findKeys(parts.whole, [...addresses.values()], look, context)
  const own = [...addresses].flatMap(([address, { owner }]) => {
    const found = held.get(address)
    return found !== undefined && holder(found.record) === owner ? [[address, found] as const] : []
  })
  if (own.length < addresses.size) refuseSilence(silent)
  const found = own.map(([, one]) => one)
  refuseBeyond(parts, found)
  return new Map(own)
}

function refuseBeyond(parts: Parts, found: readonly Located[]): void {
  if (!found.some((one) => isBeyond(parts, one))) return
  throw new A2mError('SCOPE_DENIED', 'your roles do not let you write what has that id or key')
}

function addressIn(item: Prepared): Address & { readonly owner: string | null } {
  return { owner: whose(item), key: item.entry.key ?? '' }
}
