import { A2mError, type ErrorData, invalidParams } from '../protocol/errors.js'
import { type Carried, EXTENSION } from '../protocol/extension.js'
import type { Context } from '../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Entry } from '../protocol/records.js'
import { ownerKey } from '../protocol/scope.js'
import type { WritePart } from '../state/journal.js'
import type { Outbound } from '../upstreams/translate.js'
import { grouped } from './grouping.js'
import type { Layout, Source } from './layout.js'
import { locate, refuseAmbiguity, refuseSilence } from './locate.js'
import type { Handler, Parts } from './parts.js'
import { mixesOwners, reserved, tierNamed } from './plan.js'
import { takeBack } from './take-back.js'
import { journalled, unstoppable, write, writeError } from './writing.js'

type Params = ParamsOf<'memory/remember'>

/** An entry that has passed every check that needs no upstream: where it goes, and the id it will have. */
interface Prepared extends Outbound {
  readonly home: Source
  /** The caller gave the id; a retry may bring it again. */
  readonly named: boolean
}

/** Entries for one upstream, in their order. */
interface Part {
  readonly source: Source
  readonly items: readonly Prepared[]
}

/**
 * Writes a batch: everything is checked first, then it is split by destination and applied in order. An id that exists
 * anywhere is returned and nothing is written for it (§3.2).
 */
export const remember: Handler<Params, ResultOf<'memory/remember'>> = (parts, params, context) => {
  const layout = parts.layout()
  const carried = params[EXTENSION]?.carried ?? []
  const prepared = params.records.map((entry, index) =>
    prepare(parts, layout, {
      entry,
      path: `records[${index}]`,
      carried: carried[index] ?? undefined,
    }),
  )
  const named = prepared.filter((item) => item.named)
  const keys = named.map(({ entry }) => `id:${wanted(entry.owner ?? null, entry.id)}`)
  return parts.locks.run(keys, context, async () => {
    const known = await existing(parts, layout, named, context)
    const fresh = withoutKnown(prepared, known)
    await writeParts(parts, partsOf(fresh), unstoppable(context))
    learn(parts, fresh)
    return { ids: prepared.map(({ entry }) => entry.id) }
  })
}

interface Raw {
  readonly entry: Entry
  readonly path: string
  readonly carried: Carried | undefined
}

function prepare(parts: Parts, layout: Layout, { entry, path, carried }: Raw): Prepared {
  const tier = entry.tier === undefined ? layout.tiers[0] : tierNamed(layout, entry.tier)
  if (tier === undefined)
    throw new A2mError('INTERNAL_ERROR', 'no upstream has described itself yet')
  if (tier.home === undefined) {
    throw invalidParams(`${path}.tier: nothing can be written to "${tier.name}": ${tier.homeless}`)
  }
  if (mixesOwners(tier.home, entry.owner ?? null)) {
    throw invalidParams(
      `${path}.tier: "${tier.name}" lives at ${tier.home.name}, which does not keep owners apart`,
    )
  }
  if (Object.hasOwn(Object(entry.metadata?.value() ?? {}), EXTENSION))
    throw reserved(`${path}.metadata`)
  const id = entry.id ?? parts.newId()
  return {
    entry: { ...entry, id, tier: tier.name },
    carried,
    home: tier.home,
    named: entry.id !== undefined,
  }
}

/** Under which an id is looked up: what one owner sees by it. */
function wanted(owner: string | null, id: string): string {
  return ownerKey(owner) + id
}

/** Which of the callers' ids exist, as `wanted` names them. Asks nobody where the only possible place keeps ids by owner itself. */
async function existing(
  parts: Parts,
  layout: Layout,
  named: readonly Prepared[],
  context: Context,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>()
  const [only] = layout.sources
  const alone = layout.sources.length === 1 && layout.absent.size === 0 && only?.profile.extended
  const bare = named.every(({ entry }) => only?.translation.idHere(entry.id) === entry.id)
  if (named.length === 0 || (alone && bare)) return known
  for (const [owner, items] of byOwner(named)) {
    const ids = items.map(({ entry }) => entry.id)
    const { located, silent } = await locate(parts, { ids, owner }, context)
    refuseSilence(silent)
    refuseAmbiguity(located, ids)
    for (const { record } of located) known.add(wanted(owner, record.id))
  }
  refuseQualified(layout, named, known)
  return known
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

function byOwner(items: readonly Prepared[]): Map<string | null, Prepared[]> {
  return grouped(items, ({ entry }) => entry.owner ?? null)
}

/** Entries to write: those whose id is not there yet, each id once. */
function withoutKnown(prepared: readonly Prepared[], known: ReadonlySet<string>): Prepared[] {
  const seen = new Set(known)
  return prepared.filter(({ entry }) => {
    const key = wanted(entry.owner ?? null, entry.id)
    const fresh = !seen.has(key)
    seen.add(key)
    return fresh
  })
}

function partsOf(items: readonly Prepared[]): Part[] {
  return [...grouped(items, ({ home }) => home)].map(([source, part]) => ({ source, items: part }))
}

/** A part that was not written: whether it may have been all the same, and the error that it is, given what remains. */
interface Failure {
  readonly outcome: 'refused' | 'not_sent' | 'unknown'
  readonly error: (data: ErrorData) => A2mError
}

/** One part needs no journal: the upstream's own batch is all or nothing, or its outcome is told as unknown. */
async function writeParts(parts: Parts, batch: readonly Part[], context: Context): Promise<void> {
  const [only] = batch
  if (only === undefined) return
  if (batch.length > 1) return writeSplit(parts, batch, context)
  const failure = await writePart(parts, only, context)
  if (failure !== undefined) throw failure.error({})
}

async function writeSplit(parts: Parts, batch: readonly Part[], context: Context): Promise<void> {
  const id = parts.newId()
  journalled('not_sent', () => parts.journal.beginWrite(id, batch.flatMap(mintedIn)))
  for (const [index, part] of batch.entries()) {
    const failure = await writePart(parts, part, context)
    if (failure === undefined) continue
    const touched = batch.slice(0, failure.outcome === 'unknown' ? index + 1 : index)
    const undone = await isUndone(
      takeBack(parts, { id, parts: touched.flatMap(mintedIn) }, context),
    )
    const left = touched.flatMap(({ items }) => items.filter((item) => item.named || !undone))
    throw failure.error({ remaining: left.map(({ entry }) => entry.id) })
  }
  journalled('unknown', () => parts.journal.endWrite(id))
}

/** What cannot be taken back now, for whatever reason, is left to the journal. */
function isUndone(undoing: Promise<boolean>): Promise<boolean> {
  return undoing.catch(() => false)
}

async function writePart(
  parts: Parts,
  { source, items }: Part,
  context: Context,
): Promise<Failure | undefined> {
  noteCarried(parts, source, items)
  const written = await write(parts, source, items, context)
  if (written.state === 'failed') {
    return { outcome: written.outcome, error: (data) => writeError(source, written, data) }
  }
  if (!(await holdsStrangers(parts, source, items, context))) return undefined
  const message = `${source.name} keeps that id for somebody else`
  return { outcome: 'unknown', error: (data) => new A2mError('SCOPE_DENIED', message, data) }
}

function noteCarried(parts: Parts, source: Source, items: readonly Prepared[]): void {
  if (source.profile.extended) return
  for (const { entry, carried } of items) {
    if (carried !== undefined) parts.carried.add(source.name, entry.owner ?? '', [entry.id])
  }
}

/**
 * A store that keeps ids for everybody alike answers an id that is somebody else's as if it had been written. Read back under
 * the owner, such an id is not there.
 */
async function holdsStrangers(
  parts: Parts,
  source: Source,
  items: readonly Prepared[],
  context: Context,
): Promise<boolean> {
  const doubtful = items.filter((item) => item.named)
  if (source.profile.extended || source.owners === 'common') return false
  for (const [owner, group] of byOwner(doubtful)) {
    const ids = group.map(({ entry }) => entry.id)
    const { located } = await locate(parts, { ids, owner }, context)
    const here = new Set(located.map(({ record }) => record.id))
    if (ids.some((id) => !here.has(id))) return true
  }
  return false
}

/** Only ids made here are taken back: nobody can have retried with one. */
function mintedIn({ source, items }: Part): WritePart[] {
  const minted = items.filter((item) => !item.named)
  return [...byOwner(minted)].map(([owner, group]) => ({
    upstream: source.name,
    owner,
    ids: group.map(({ entry }) => entry.id),
  }))
}

function learn(parts: Parts, items: readonly Prepared[]): void {
  for (const [owner, group] of byOwner(items)) {
    parts.lexical.learn(
      owner,
      group.map(({ entry }) => entry.content),
    )
  }
}
