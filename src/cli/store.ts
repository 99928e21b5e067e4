import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { StoreApp } from '../app/store.js'
import { RETENTION } from '../events/log.js'
import { METRICS, type Metric } from '../stores/metric.js'
import { createLog } from '../telemetry/logs.js'
import { Failure } from './failure.js'
import { onListener, onStdio, orClose, sayPid, serveUntilStopped } from './server.js'
import { SYSTEM } from './system.js'
import { coloursFor, say, type Terminal } from './terminal.js'
import { count, list, port, sha256 } from './values.js'

interface StoreCommand {
  readonly path: string
  readonly http?: number
  readonly stdio?: true
  readonly host: string
  readonly tiers?: readonly string[]
  readonly metric?: Metric
  readonly events: number
  readonly readOnly?: true
  readonly tokenSha256?: string
}

const EXAMPLES = `
The first of --tiers takes records that name none. The holder of the token may act for every owner, and over HTTP a store
keeps owners apart only where there is one; without it, the store is open to this machine and to no other. Over stdio the
caller is taken at its word. The width of the first vector is that of all later ones; how they are compared, cosine unless
--metric says otherwise, is kept in the file. Signals are for the process whose pid is printed: npx passes none on.

Examples:
  $ a2m-gateway store --path facts.db --http 9001 --tiers semantic,procedural
  $ a2m-gateway store --path facts.db --stdio
  $ a2m-gateway store --path archive.db --http 9002 --read-only --token-sha256 "$(printf %s "$TOKEN" | sha256sum | cut -c1-64)"
`

/** `store`: one built-in store as an A2M server of its own. */
export function addStore(program: Command, terminal: Terminal): void {
  program
    .command('store')
    .description('serve one built-in store, over HTTP or on stdin and stdout')
    .requiredOption('--path <file>', 'the SQLite file; made where it is missing')
    .option('--http <port>', 'listen on this port, 0 for a free one', port)
    .option('--stdio', 'serve stdin and stdout')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--tiers <names>', 'separated by commas; the four kinds without it', list)
    .addOption(new Option('--metric <name>', 'how vectors are compared').choices([...METRICS]))
    .option('--events <count>', 'how many events are kept, 0 for none', count, RETENTION.keep)
    .option('--read-only', 'take no writes')
    .option('--token-sha256 <hex>', 'let in only who shows the key with this SHA-256', sha256)
    .addHelpText('after', EXAMPLES)
    .action((options: StoreCommand) => serve(options, terminal))
}

async function serve(options: StoreCommand, terminal: Terminal): Promise<void> {
  check(options)
  const path = resolve(terminal.cwd, options.path)
  if (options.readOnly && !existsSync(path)) {
    throw new Failure(1, `${path} does not exist, and --read-only makes no file`)
  }
  const { openStoreApp, STORE_SHUTDOWN_MS } = await import('../app/store.js')
  const app = await openStoreApp({
    store: {
      path,
      ...(options.tiers === undefined ? {} : { tiers: options.tiers }),
      ...(options.metric === undefined ? {} : { metric: options.metric }),
      events: { keep: options.events },
      access: options.readOnly ? 'read-only' : 'read-write',
    },
    tokenSha256: options.tokenSha256,
    log: createLog({ level: 'info', secrets: [] }),
    ...SYSTEM,
  })
  if (!options.stdio) await listen(app, options, terminal)
  const serving = options.stdio ? onStdio(app, terminal) : onListener(app)
  await serveUntilStopped(serving, STORE_SHUTDOWN_MS, terminal)
}

function check({ http, stdio, host, tokenSha256 }: StoreCommand): void {
  if ((http === undefined) === (stdio === undefined)) {
    throw new Failure(2, 'a store is served in one way: give --http PORT or --stdio')
  }
  const loopback = /^(localhost|::1|127(\.\d{1,3}){3})$/.test(host)
  if (http !== undefined && !loopback && tokenSha256 === undefined) {
    throw new Failure(2, `${host} is reached from other machines; give --token-sha256 with it`)
  }
}

async function listen(app: StoreApp, options: StoreCommand, terminal: Terminal): Promise<void> {
  const { stderr, env } = terminal
  const { url } = await orClose(app, app.listen(options.host, options.http ?? 0))
  say(stderr, `listening on ${coloursFor(stderr, env).bold(url)}`)
  sayPid('stop', terminal)
}
