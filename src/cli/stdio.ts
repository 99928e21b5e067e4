import type { Command } from 'commander'
import { type ConfigOptions, readConfig, withConfigOption } from './config-file.js'
import { onStdio, serveUntilStopped } from './server.js'
import { depsFor } from './system.js'
import type { Terminal } from './terminal.js'

const EXAMPLES = `
One JSON-RPC message a line, of the default version. Logs go to stderr. The end of the input ends the process once what came in is answered.
The caller is taken at its word for any owner; listen, admin and auth of the configuration are not used.

Example:
  $ echo '{"jsonrpc":"2.0","id":1,"method":"memory/describe"}' | a2m-gateway stdio
`

/** `stdio`: the gateway on stdin and stdout, until the input ends. */
export function addStdio(program: Command, terminal: Terminal): void {
  withConfigOption(program.command('stdio').description('serve the gateway on stdin and stdout'))
    .addHelpText('after', EXAMPLES)
    .action((options: ConfigOptions) => serve(options, terminal))
}

async function serve(options: ConfigOptions, terminal: Terminal): Promise<void> {
  const config = await readConfig(options, terminal)
  const { openApp } = await import('../app/gateway.js')
  const app = await openApp(config, depsFor(config, terminal))
  await serveUntilStopped(onStdio(app, terminal), config.limits.shutdownTimeout, terminal)
}
