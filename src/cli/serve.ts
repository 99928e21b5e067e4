import type { Command } from 'commander'
import type { Addresses } from '../app/gateway.js'
import type { Config } from '../config/config.js'
import { type ConfigOptions, readConfig, withConfigOption } from './config-file.js'
import { reloadWhenAsked } from './reload.js'
import { onListener, orClose, sayPid, serveUntilStopped } from './server.js'
import { depsFor } from './system.js'
import { coloursFor, say, type Terminal } from './terminal.js'
import { curlOf } from './try-line.js'
import { port } from './values.js'

const EXAMPLES = `
Ready means: "listening on http://HOST:PORT/" and "admin on http://HOST:PORT/" on stderr, and GET /health/ready says 200.
SIGHUP reads the configuration again: keys, issuers, roles and certificates are replaced without dropping a connection.
SIGTERM and SIGINT let calls under way finish, within limits.shutdown_timeout; a second signal ends at once.
Signals are for the process whose pid is printed. npx and npm pass none on: under a supervisor, have it run node itself, as below.

Examples:
  $ a2m-gateway serve
  $ exec node dist/cli/main.js serve --config gateway.yaml    in the script that a supervisor runs
  $ a2m-gateway serve --port 0                          a free port
  $ a2m-gateway serve --config gateway.yaml
`

/** `serve`: the gateway over HTTP, until a signal. */
export function addServe(program: Command, terminal: Terminal): void {
  withConfigOption(program.command('serve').description('serve the gateway over HTTP'))
    .option('--host <host>', 'address to listen on; goes before listen.host of the configuration')
    .option('--port <port>', 'port to listen on, 0 for a free one; goes before listen.port', port)
    .addHelpText('after', EXAMPLES)
    .action((options: ConfigOptions) => serve(options, terminal))
}

async function serve(options: ConfigOptions, terminal: Terminal): Promise<void> {
  const config = await readConfig(options, terminal)
  const { openApp } = await import('../app/gateway.js')
  const deps = depsFor(config, terminal)
  const app = await openApp(config, deps)
  if (options.config !== undefined) reloadWhenAsked(app, options, { terminal, log: deps.log })
  announce(await orClose(app, app.listen()), config, terminal)
  sayPid(options.config === undefined ? 'stop' : 'reload and stop', terminal)
  await serveUntilStopped(onListener(app), config.limits.shutdownTimeout, terminal)
}

function announce({ listen, admin }: Addresses, config: Config, { stderr, env }: Terminal): void {
  const { bold, dim } = coloursFor(stderr, env)
  say(stderr, `listening on ${bold(listen.url)}`)
  if (admin !== undefined) say(stderr, `admin on ${bold(admin.url)}`)
  say(stderr, dim(`try: ${curlOf(new URL(config.listen.path, listen.url), config.auth)}`))
}
