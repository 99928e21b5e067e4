import { A2mError } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import { BROUGHT_BY } from '../../protocol/methods.js'
import type { Entry, MemoryRecord } from '../../protocol/records.js'
import type { Source } from '../layout.js'
import { locateAt } from '../locate.js'
import type { Parts } from '../parts.js'
import { byOwner, type Part, type Placed } from './placing.js'
import { sameVector } from './verify.js'
import type { Failure } from './write-part.js'
import { erase, write, writeError } from './writing.js'

/** Whether a record still has a field as it was sent. The salience is the store's to change. */
const KEEPS = {
  session: (sent, kept) => sent.session === kept.session,
  key: (sent, kept) => sent.key === kept.key,
  embedding: (sent, kept) => sameVector(sent.embedding, kept.embedding),
  uri: (sent, kept) => sent.uri === kept.uri,
  media_type: (sent, kept) => sent.media_type === kept.media_type,
} as const satisfies {
  readonly [F in keyof typeof BROUGHT_BY]?: (sent: Entry, kept: MemoryRecord) => boolean
}
const KEPT = Object.keys(KEEPS) as readonly (keyof typeof KEEPS)[]

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

/** The fields of an entry that bring a capability which nobody has seen kept yet. */
function unproven({ trust }: Parts, { name, profile }: Source, entry: Entry) {
  return KEPT.filter((field) => {
    const capability = BROUGHT_BY[field]
    const declared = profile.capabilities.has(capability)
    return entry[field] !== undefined && declared && !trust.isProven(name, capability)
  })
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
  for (const field of unproven(parts, source, entry)) {
    const capability = BROUGHT_BY[field]
    if (KEEPS[field](entry, kept)) trust.prove(source.name, capability)
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
