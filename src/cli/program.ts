import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addCall } from './call.js'
import { addCan } from './can.js'
import { addCheck } from './check.js'
import { type ExitCode, explain, SAID } from './failure.js'
import { addKeys } from './keys.js'
import { addServe } from './serve.js'
import { addStdio } from './stdio.js'
import { addStore } from './store.js'
import { coloursFor, say, type Terminal } from './terminal.js'
import { addUsage } from './usage.js'

const EXAMPLES = `
Examples:
  $ a2m-gateway serve                                  embedded stores in ./data, on loopback
  $ a2m-gateway serve --config gateway.yaml
  $ a2m-gateway check --config gateway.yaml            what would be declared, and what takes the rest away
  $ a2m-gateway call recall '{"query":"deploy key"}'

Exit codes: 0 well, 1 something is wrong, 2 the configuration or the command line is.
`

/** Runs one command line and says how the process is to end. Never throws. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    await createProgram(terminal).parseAsync(argv, { from: 'user' })
    return 0
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
    const { message, exitCode } = explain(thrown)
    const { red } = coloursFor(terminal.stderr, terminal.env)
    if (message !== SAID) say(terminal.stderr, `${red('a2m-gateway:')} ${message}`)
    return exitCode
  }
}

/** Commands load what they run on only when they run, so that help and the small ones need not wait for a gateway. */
function createProgram(terminal: Terminal): Command {
  const program = new Command('a2m-gateway')
    .description('Many agent-memory stores behind one A2M 0.1 endpoint')
    .version(version(), '-V, --version')
    .helpCommand('help [command]')
    .showHelpAfterError('(--help says more)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .addHelpText('after', EXAMPLES)
  const commands = [addServe, addStdio, addCheck, addStore, addCall, addCan, addKeys, addUsage]
  for (const add of commands) add(program, terminal)
  return program
}

/** The same file beside the source and beside what is built. */
function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const { version: number }: { version?: string } = JSON.parse(text)
  return number ?? 'unknown'
}
