import { join } from 'node:path'
import {
  type EventsConfig,
  type FederationConfig,
  type NamedFederation,
  type TierConfig,
  USAGE_SPOOL,
} from './config.js'
import { EMBEDDED } from './embedded.js'
import { ConfigError, type Path } from './errors.js'
import {
  type FederationFile,
  federationSchema,
  type TierFile,
  type UpstreamFile,
} from './schema.js'
import { toUpstream } from './upstreams.js'
import { DEFAULT_FEDERATION } from './versions.js'

/** Where relative paths start, and the order in which a file has the names at a path. */
export interface FilePlace {
  readonly cwd: string
  /** Absolute: where built-in stores without an absolute path of their own lie. */
  readonly dataDir: string
  readonly order: (...path: readonly string[]) => readonly string[]
}

/** The upstreams, tiers and recall of one federation, whether at the top of the file or under its name. */
export function toFederation(file: FederationFile, place: FilePlace): FederationConfig {
  const { cwd, dataDir, order } = place
  const { limit, window, k, voters, on_failure } = file.recall
  const { upstreams, tiers } = withEmbedded(file)
  const mapped = inOrder(tiers, order('tiers')).map(([name, tier]) => toTier(name, tier))
  const around = { cwd, dataDir, tiers: mapped }
  return {
    upstreams: inOrder(upstreams, order('upstreams')).map(([name, upstream]) =>
      toUpstream(name, upstream, around),
    ),
    tiers: mapped,
    recall: { limit, window, k, voters, onFailure: on_failure },
  }
}

export function toEvents({ keep, max_age, tail, tail_interval }: FederationFile['events']) {
  const events: EventsConfig = {
    keep,
    maxAge: max_age,
    tail: tail ? { interval: tail_interval } : undefined,
  }
  return events
}

/** The federations beside the one at the top, each with a folder of its own. */
export function toFederations(
  files: Readonly<Record<string, FederationFile>>,
  place: FilePlace,
): readonly NamedFederation[] {
  return inOrder(files, place.order('federations')).map(([name, file]) => {
    const path = ['federations', name]
    if (name === DEFAULT_FEDERATION) {
      throw new ConfigError(path, 'is the one at the top of the file; choose another name')
    }
    if (name === USAGE_SPOOL) {
      throw new ConfigError(
        path,
        "is a folder of the gateway's own in data_dir; choose another name",
      )
    }
    const dataDir = join(place.dataDir, name)
    const order = (...below: readonly string[]) => place.order(...path, ...below)
    const federation = within(path, () => toFederation(file, { cwd: place.cwd, dataDir, order }))
    return { name, dataDir, federation, events: toEvents(file.events) }
  })
}

/** What `task` says of a part of the file, with the path of that part before it. */
export function within<T>(path: Path, task: () => T): T {
  try {
    return task()
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    throw new ConfigError([...path, ...thrown.path], thrown.problem)
  }
}

interface Named {
  readonly upstreams: Readonly<Record<string, UpstreamFile>>
  readonly tiers: Readonly<Record<string, TierFile>>
}

/** A federation that names no upstream has the embedded stores, with their tiers. */
function withEmbedded({ upstreams, tiers }: FederationFile): Named {
  if (upstreams === undefined) {
    if (tiers !== undefined) throw new ConfigError(['tiers'], 'needs upstreams that hold them')
    const { upstreams: stores, tiers: theirs } = federationSchema.parse(EMBEDDED)
    return { upstreams: stores ?? {}, tiers: theirs ?? {} }
  }
  if (Object.keys(upstreams).length === 0) {
    throw new ConfigError(['upstreams'], 'must name at least one, or be left out')
  }
  return { upstreams, tiers: tiers ?? {} }
}

/** Entries as the file has them: an object would put names that look like numbers first. */
export function inOrder<T>(
  named: Readonly<Record<string, T>>,
  order: readonly string[],
): [string, T][] {
  const entries = Object.entries(named)
  return entries.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
}

function toTier(name: string, file: TierFile): TierConfig {
  return {
    name,
    kind: file.kind,
    upstream: file.upstream,
    upstreamTier: file.upstream_tier ?? name,
    also: file.also,
    capacity: file.capacity,
    spillTo: file.spill_to,
    perSession: file.per_session,
    promoteTo: file.promote_to,
    promoteAfter: file.promote_after,
    halfLife: file.half_life,
    overflow: file.overflow,
  }
}
