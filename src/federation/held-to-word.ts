import { A2mError } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Capability } from '../protocol/methods.js'
import type { Entry, MemoryRecord } from '../protocol/records.js'
import type { Source } from './layout.js'
import { locateAt } from './locate.js'
import type { Parts } from './parts.js'
import { byOwner, type Part, type Placed } from './placing.js'
import { sameVector } from './verify.js'
import type { Failure } from './write-part.js'
import { erase, write, writeError } from './writing.js'

/** What a capability has a store keep, and whether a record still has it. */
const KEEPS: readonly (readonly [
  capability: Capability,
  field: keyof Entry,
  isKept: (sent: Entry, kept: MemoryRecord) => boolean,
])[] = [
  ['sessions', 'session', (sent, kept) => sent.session === kept.session],
  ['keys', 'key', (sent, kept) => sent.key === kept.key],
  ['embeddings', 'embedding', (sent, kept) => sameVector(sent.embedding, kept.embedding)],
  ['external', 'uri', (sent, kept) => sent.uri === kept.uri],
  ['external', 'media_type', (sent, kept) => sent.media_type === kept.media_type],
]

/**
 * Holds an upstream of others to what it declares: the first record that needs a capability is read back. An upstream that has
 * dropped something is counted from then on as one that does not declare the capability, and what was written is written again so
 * that nothing of it is lost: what the upstream would drop goes into reserved metadata.
 */
export async function holdToWord(
  parts: Parts,
  { source, items }: Part,
  context: Context,
): Promise<Failure | undefined> {
  if (source.profile.extended || source.upstream.config.connect.kind === 'store') return undefined
  const made = items.filter(({ slot }) => slot?.held === undefined)
  const doubtful = made.filter(({ entry }) => unproven(parts, source, entry).length > 0)
  if (doubtful.length === 0) return undefined
  const losers: Placed[] = []
  for (const [owner, group] of byOwner(doubtful)) {
    const ids = group.map(({ entry }) => entry.id)
    const { located } = await locateAt(parts, source, { ids, owner }, context)
    const there = new Map(located.map(({ record }) => [record.id, record]))
    losers.push(...group.filter(({ entry }) => isLoser(parts, source, entry, there.get(entry.id))))
  }
  return losers.length === 0 ? undefined : writeAgain(parts, source, losers, context)
}

function unproven({ trust }: Parts, { name, profile }: Source, entry: Entry) {
  return KEEPS.filter(
    ([capability, field]) =>
      entry[field] !== undefined &&
      profile.capabilities.has(capability) &&
      !trust.isProven(name, capability),
  )
}

/** Learns from one record what its upstream keeps. One that cannot be read says nothing. */
function isLoser(
  parts: Parts,
  source: Source,
  entry: Entry,
  kept: MemoryRecord | undefined,
): boolean {
  if (kept === undefined) return false
  const { trust, blame } = parts
  let lost = false
  for (const [capability, , isKept] of unproven(parts, source, entry)) {
    if (isKept(entry, kept)) trust.prove(source.name, capability)
    else {
      lost = true
      if (trust.untrueOf(source.name).has(capability)) continue
      trust.distrust(source.name, capability)
      blame(source.name, 'untrue_capability', 1)
    }
  }
  return lost
}

/** The layout has changed by now: the upstream is told what it can be trusted with. */
async function writeAgain(
  parts: Parts,
  { name }: Source,
  losers: readonly Placed[],
  context: Context,
): Promise<Failure | undefined> {
  const source = parts.layout().sources.find((one) => one.name === name)
  if (source === undefined) return undefined
  for (const [owner, group] of byOwner(losers)) {
    const ids = group.map(({ entry }) => entry.id)
    const erased = await erase(parts, source, { ids, owner }, context)
    if (erased.failed !== undefined) return dropped(name)
    parts.carried.add(name, owner ?? '', ids)
    const written = await write(parts, source, group, context)
    if (written.state === 'failed') {
      return { outcome: 'unknown', error: (data) => writeError(source, written, data) }
    }
  }
  return undefined
}

function dropped(name: string): Failure {
  const message = `${name} has dropped some of what it declares to keep; the record is there without it`
  return {
    outcome: 'unknown',
    error: (data) => new A2mError('INTERNAL_ERROR', message, { upstream: name, ...data }),
  }
}
