import { basename, join } from 'node:path'
import { type Config, QUOTA_FILE, STATE_FILE, USAGE_FILE } from './config.js'
import { ConfigError, type Path } from './errors.js'
import { SIGNING_FILE } from './signing.js'
import { qualified, type View, viewsOf } from './views.js'

/** A file that the configuration has something written to, where it says so, and whose it is, for people. */
interface Written {
  readonly path: Path
  readonly file: string
  readonly holder: string
}

/** Throws where two things would be kept in one file. Federations have folders of their own, but paths may lead out of them. */
export function refuseSharedFiles(config: Config): void {
  const own = ownFiles(config)
  const holders = new Map<string, string>()
  for (const { path, file, holder } of writtenFiles(config)) {
    if (own.has(file)) {
      throw new ConfigError(
        path,
        `${basename(file)} in data_dir is the gateway's own file; name another`,
      )
    }
    const other = holders.get(file)
    if (other !== undefined) throw new ConfigError(path, `is already the file of ${other}`)
    holders.set(file, holder)
  }
}

/** What the gateway keeps in its folders by itself. */
function ownFiles(config: Config): ReadonlySet<string> {
  const states = viewsOf(config).map((view) => join(view.config.dataDir, STATE_FILE))
  const others = [QUOTA_FILE, USAGE_FILE, SIGNING_FILE].map((name) => join(config.dataDir, name))
  return new Set([...states, ...others])
}

function writtenFiles(config: Config): Written[] {
  const { audit, usage } = config
  const log = audit && { path: ['audit', 'path'], file: audit.path, holder: 'audit' }
  const sinks = (usage?.sinks ?? []).flatMap((sink): Written[] => {
    if (sink.kind !== 'json-lines') return []
    const path = ['usage', 'sinks', sink.name, 'jsonl']
    return [{ path, file: sink.path, holder: `usage.sinks.${sink.name}` }]
  })
  return [...viewsOf(config).flatMap(storesOf), ...(log === undefined ? [] : [log]), ...sinks]
}

function storesOf(view: View): Written[] {
  return view.config.federation.upstreams.flatMap(({ name, connect }): Written[] => {
    if (connect.kind !== 'store') return []
    const path = [...view.path, 'upstreams', name, 'path']
    return [{ path, file: connect.path, holder: qualified(view.name, name) }]
  })
}
