import { asksForOneOwner } from '../config/signing.js'
import { A2mError, invalidParams } from '../protocol/errors.js'
import type { Where } from '../protocol/matches.js'
import type { Owner } from '../protocol/scope.js'
import { lackingFor, reservedIn } from '../upstreams/reserved.js'
import type { Layout, Source, TierLayout } from './layout.js'
import { type Space, whyIncomparable } from './space.js'

/** What a call wants to read, in the gateway's terms. */
export interface Wanted {
  readonly tier?: string | undefined
  readonly where?: Where | undefined
  readonly owner: Owner
  /** Vectors are wanted with the records; without this they are left out of every answer (§3.7). */
  readonly embeddings?: boolean | undefined
  /** Only records whose key is at or beneath a prefix. */
  readonly keys?: KeysWanted | undefined
  readonly nearest?: NearestWanted | undefined
}

/** A question by vector. Upstreams whose vectors mean nothing beside it are asked by the words alone, if there are any. */
export interface NearestWanted {
  readonly vector: readonly number[]
  readonly space: Space
  readonly words: boolean
}

/** A prefix of keys, not empty, and which upstreams may hold records with keys at all. */
export interface KeysWanted {
  readonly prefix: string
  readonly mayHold: (source: Source) => boolean
}

/** One upstream that may hold something of what is wanted. `where` is in its own terms. */
export interface Target {
  readonly source: Source
  readonly tiers: readonly string[]
  readonly where: Where
  readonly embeddings?: boolean | undefined
  readonly keyPrefix?: string | undefined
  /** It is asked by this vector. */
  readonly vector?: readonly number[] | undefined
}

/** Whom to ask, whom not, and why. */
export interface Plan {
  readonly targets: readonly Target[]
  /** Could not have had an answer. */
  readonly skipped: ReadonlyMap<string, string>
  /** Might have had one and cannot be asked. */
  readonly absent: ReadonlyMap<string, string>
}

/** Decides who is asked for a reading. An unknown `tier` is `-32002`; in `where` it is a test that nothing passes. */
export function planReading(layout: Layout, wanted: Wanted): Plan {
  const tiers = wantedTiers(layout, wanted)
  const skipped = new Map<string, string>()
  const targets: Target[] = []
  const unnamed = new Map<string, string>()
  const { keys, embeddings, nearest, owner } = wanted
  if (tiers.size === 0) return { targets, skipped, absent: absentFrom(layout, tiers) }
  for (const source of layout.sources) {
    const here = source.tiers.filter((tier) => tiers.has(tier))
    const where = source.translation.whereHere(wanted.where)
    const reason = whySkipped(source, here, wanted)
    if (reason !== undefined) skipped.set(source.name, reason)
    else if (where === undefined) skipped.set(source.name, 'the ids are not its')
    else if (needsOwner(source, owner)) unnamed.set(source.name, UNNAMED)
    else {
      const vector = whyNotNearest(source, nearest) === undefined ? nearest?.vector : undefined
      targets.push({ source, tiers: here, where, embeddings, keyPrefix: keys?.prefix, vector })
    }
  }
  return { targets, skipped, absent: joined(absentFrom(layout, tiers), unnamed) }
}

type Reasons = ReadonlyMap<string, string>

function joined(absent: Reasons, unnamed: Reasons): Reasons {
  return unnamed.size === 0 ? absent : new Map([...absent, ...unnamed])
}

const UNNAMED = 'it is asked for one owner at a time, and none was named'

/** What has to know every place cannot be done for everybody where one that is written to is asked for one owner at a time. */
export function refuseUnnamed({ sources }: Layout, { absent }: Plan): void {
  const open = sources.find(({ name, writable }) => writable && absent.get(name) === UNNAMED)
  if (open === undefined) return
  throw invalidParams(
    `owner: this is about everybody's records, and ${open.name} is asked for one owner at a time: name one, or call as one`,
  )
}

/** Those that are mapped to one of the tiers, or to none yet and so might have any. */
function absentFrom(layout: Layout, wanted: ReadonlySet<string>): ReadonlyMap<string, string> {
  if (layout.absent.size === 0) return layout.absent
  const mapped = new Set(layout.tiers.flatMap(({ upstreams }) => upstreams))
  const concerned = new Set(
    layout.tiers.filter(({ name }) => wanted.has(name)).flatMap(({ upstreams }) => upstreams),
  )
  return new Map([...layout.absent].filter(([name]) => !mapped.has(name) || concerned.has(name)))
}

function whySkipped(
  source: Source,
  here: readonly string[],
  { owner, keys, nearest, where = {} }: Wanted,
): string | undefined {
  if (here.length === 0) return 'none of the tiers is its'
  const lacking = source.writable ? undefined : lackingFor(where, source.profile)
  if (lacking !== undefined) return `it does not declare ${lacking}`
  if (keys !== undefined && !keys.mayHold(source)) return 'it keeps no keys'
  const incomparable = nearest?.words ? undefined : whyNotNearest(source, nearest)
  if (incomparable !== undefined) return incomparable
  if (owner === null && needsOwner(source, owner)) return 'it keeps records of owners alone'
  return mixesOwners(source, owner) ? 'it does not keep owners apart' : undefined
}

function whyNotNearest(source: Source, nearest: NearestWanted | undefined): string | undefined {
  return nearest && whyIncomparable(source, nearest.space, nearest.vector)
}

/**
 * An upstream that keeps no owners apart holds whoever's records: nothing for a caller that has but its own. Only where the
 * configuration says of one that nothing is written to it is it common ground; never where it is meant to keep them apart.
 */
export function mixesOwners(source: Source, owner: Owner): boolean {
  if (typeof owner !== 'string' || source.owners === 'apart') return false
  const { access, owner: way } = source.upstream.config
  if (way === 'metadata') return true
  return source.writable || !(access === 'read-only' || way === 'none')
}

/**
 * An upstream that is shown tokens of owners, and no credential that speaks for everybody, cannot be asked about everybody's
 * records, and never holds one without an owner.
 */
export function needsOwner({ upstream: { config } }: Source, owner: Owner): boolean {
  return typeof owner !== 'string' && asksForOneOwner(config)
}

function wantedTiers(layout: Layout, { tier, where }: Wanted): ReadonlySet<string> {
  const name = reservedIn(where)
  if (name !== undefined) throw reserved('where', name)
  const known = layout.tiers.map(({ name }) => name)
  if (tier !== undefined && tier !== '') tierNamed(layout, tier)
  const tested = where === undefined || !Object.hasOwn(where, 'tier') ? undefined : where['tier']
  const any = Array.isArray(tested) ? tested : [tested]
  return new Set(
    known.filter(
      (name) => (!tier || tier === name) && (tested === undefined || any.includes(name)),
    ),
  )
}

/** The tier of that name; `-32002` where there is none. */
export function tierNamed(layout: Layout, name: string): TierLayout {
  const found = layout.tiers.find((tier) => tier.name === name)
  if (found !== undefined) return found
  const known = layout.tiers.map((tier) => tier.name)
  throw new A2mError('UNKNOWN_TIER', `no tier ${JSON.stringify(name.slice(0, 80))}`, {
    tiers: known,
  })
}

/** The names that the gateway itself uses in metadata are no caller's to set or to test. */
export function reserved(path: string, name: string): A2mError {
  return invalidParams(`${path}: the name "${name}" in metadata is reserved`)
}
