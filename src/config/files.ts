import { basename, dirname, extname, join, sep } from 'node:path'
import { type Config, QUOTA_FILE, STATE_FILE, USAGE_FILE, USAGE_SPOOL } from './config.js'
import { ConfigError, type Path } from './errors.js'
import { SIGNING_FILE } from './signing.js'
import { qualified, type View, viewsOf } from './views.js'

/** A file that the configuration has something written to, where it says so, and whose it is, for people. */
interface Written {
  readonly path: Path
  readonly file: string
  readonly holder: string
  /** Whether a file that is not the same is written along with it. */
  readonly beside: (file: string) => boolean
}

/**
 * Throws where two things would be kept in one file, or one in what another makes beside its own. Federations have folders of
 * their own, but paths may lead out of them. `source` is the file that the configuration was read from, absolute.
 */
export function refuseSharedFiles(config: Config, source?: string): void {
  const own = ownFiles(config)
  const read = readFiles(config, source)
  const spool = join(config.dataDir, USAGE_SPOOL)
  const before: Written[] = []
  for (const written of writtenFiles(config)) {
    const { path, file } = written
    const refuse = (problem: string): never => {
      throw new ConfigError(path, problem)
    }
    if (own.has(file) || [...own.values()].some((beside) => beside(file))) {
      refuse(`${basename(file)} in data_dir is the gateway's own file; name another`)
    }
    if (file === spool || file.startsWith(spool + sep)) {
      refuse(`the folder ${USAGE_SPOOL} in data_dir is the gateway's own; name a file elsewhere`)
    }
    const part = read.get(file)
    if (part !== undefined) refuse(`is the file of ${part}; name another`)
    for (const other of before) refuseBoth(other, written)
    before.push(written)
  }
}

function refuseBoth(other: Written, { path, file, beside }: Written): void {
  if (file === other.file) throw new ConfigError(path, `is already the file of ${other.holder}`)
  if (!other.beside(file) && !beside(other.file)) return
  const [one, two] = [basename(file), basename(other.file)]
  const problem = `${one} and ${two}, the file of ${other.holder}: one is a name that is made from the other while it is written`
  throw new ConfigError(path, `${problem}; choose another`)
}

/** What the gateway keeps in its folders by itself, with what is beside it. */
function ownFiles(config: Config): ReadonlyMap<string, Written['beside']> {
  const states = viewsOf(config).map((view) => join(view.config.dataDir, STATE_FILE))
  const others = [QUOTA_FILE, USAGE_FILE].map((name) => join(config.dataDir, name))
  const databases = [...states, ...others].map((file) => [file, besideDatabase(file)] as const)
  return new Map([...databases, [join(config.dataDir, SIGNING_FILE), () => false]])
}

/** What is read at a start or a reload, and what says so. */
function readFiles({ auth, listen }: Config, source: string | undefined): Map<string, string> {
  const { cert, key, ca } = listen.tls ?? {}
  const files = [
    [source, 'the configuration itself'],
    [auth?.keysFile?.path, 'auth.keys_file'],
    [cert, 'listen.tls.cert'],
    [key, 'listen.tls.key'],
    [ca, 'listen.tls.ca'],
  ] as const
  return new Map(files.flatMap(([file, part]) => (file === undefined ? [] : [[file, part]])))
}

function writtenFiles(config: Config): Written[] {
  return [...viewsOf(config).flatMap(storesOf), ...auditOf(config), ...sinksOf(config)]
}

function auditOf({ audit }: Config): Written[] {
  if (audit === undefined) return []
  const { path: file } = audit
  return [{ path: ['audit', 'path'], file, holder: 'audit', beside: besideAudit(file) }]
}

function sinksOf({ usage }: Config): Written[] {
  return (usage?.sinks ?? []).flatMap((sink): Written[] => {
    if (sink.kind !== 'json-lines') return []
    const { name, path: file } = sink
    const path = ['usage', 'sinks', name, 'jsonl']
    return [{ path, file, holder: `usage.sinks.${name}`, beside: besideSink(file) }]
  })
}

function storesOf(view: View): Written[] {
  return view.config.federation.upstreams.flatMap(({ name, connect }): Written[] => {
    if (connect.kind !== 'store') return []
    const path = [...view.path, 'upstreams', name, 'path']
    const { path: file } = connect
    return [{ path, file, holder: qualified(view.name, name), beside: besideDatabase(file) }]
  })
}

/** SQLite keeps what is not in a database yet, or may have to be undone, in files beside it. */
function besideDatabase(database: string): Written['beside'] {
  const names = new Set(['-wal', '-shm', '-journal'].map((end) => database + end))
  return (file) => names.has(file)
}

/** `audit.jsonl` that is full becomes `audit-000001.jsonl`. */
function besideAudit(log: string): Written['beside'] {
  const end = extname(log)
  const start = join(dirname(log), `${basename(log, end)}-`)
  return (file) =>
    file.startsWith(start) &&
    file.endsWith(end) &&
    /^\d{6,15}$/.test(file.slice(start.length, file.length - end.length))
}

/** A sink's file that is full becomes `usage.jsonl.1`, that one `usage.jsonl.2`. */
function besideSink(sink: string): Written['beside'] {
  return (file) => file.startsWith(`${sink}.`) && /^\d+$/.test(file.slice(sink.length + 1))
}
