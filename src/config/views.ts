import type { Config } from './config.js'
import type { Path } from './errors.js'
import { DEFAULT_FEDERATION } from './versions.js'

/** One federation of a configuration. */
export interface View {
  readonly name: string
  /** Where its keys stand in the file. */
  readonly path: Path
  /** The configuration as if this federation were the only one: its upstreams, tiers, events and folder. */
  readonly config: Config
}

/** Every federation that a configuration tells of, the one at the top first. */
export function viewsOf(config: Config): readonly View[] {
  const named = config.federations.map(({ name, dataDir, federation, events }): View => {
    const own = { name: `${config.name}/${name}`, dataDir, federation, events, federations: [] }
    return { name, path: ['federations', name], config: { ...config, ...own } }
  })
  return [{ name: DEFAULT_FEDERATION, path: [], config }, ...named]
}

/** Those of them that some version is served by. */
export function servedViews(config: Config): readonly View[] {
  const served = new Set(
    config.versions.map(({ serves }) =>
      serves.kind === 'federation' ? serves.federation : undefined,
    ),
  )
  return viewsOf(config).filter(({ name }) => served.has(name))
}

/** What metrics, logs and operators call an upstream: names are unique in one federation only. */
export function qualified(federation: string, name: string): string {
  return federation === DEFAULT_FEDERATION ? name : `${federation}/${name}`
}
