import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { newKey } from '../identity/keys.js'
import { formatInstant } from '../protocol/time.js'
import { SYSTEM } from './system.js'
import { say, type Terminal } from './terminal.js'
import { instantFrom, list, owners, something } from './values.js'

interface NewOptions {
  readonly name: string
  readonly owner: string | readonly string[]
  readonly expires?: number
  readonly roles: readonly string[]
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ a2m-gateway keys new --name agent-a --owner agent-a
  $ a2m-gateway keys new --name root --owner '*'                       may act for every owner
  $ a2m-gateway keys new --name desk --owner ann,bob --expires 90d     may act for two, for a time
  $ a2m-gateway keys new --name outer --owner '*' --roles gateway      for a gateway in front of this one

To rotate a key: make one of the same name, owner and roles, put its entry beside the old one, send the gateway SIGHUP, give
the caller the new key, then take the old entry out and send SIGHUP again. Entries of one name are one caller.
`

/** `keys new`: a key that is shown once, and the entry of the configuration that knows it by its hash. */
export function addKeys(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('make API keys')
  keys
    .command('new')
    .description('make a key, print it once, and print the config entry that holds its hash')
    .requiredOption('--name <name>', 'what logs call the caller', something)
    .requiredOption(
      '--owner <owner>',
      'whose records it may touch; several separated by commas, "*" for every owner',
      owners,
    )
    .option(
      '--expires <when>',
      'a duration such as 90d, or an instant; without it the key is good until it is taken out',
      instantFrom(SYSTEM.clock.now),
    )
    .option('--roles <roles>', 'separated by commas', list, ['agent'])
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES)
    .action((options: NewOptions) => makeKey(options, terminal))
}

function makeKey(options: NewOptions, { stdout }: Terminal): void {
  const { name, owner, roles, expires, json } = options
  const { key, sha256 } = newKey(randomBytes)
  const until = expires === undefined ? {} : { expires: formatInstant(expires) }
  const entry = { name, owner, sha256, roles, ...until }
  if (json) {
    say(stdout, JSON.stringify({ key, entry }))
    return
  }
  say(
    stdout,
    key,
    '',
    'This key is shown once and kept nowhere. The caller sends it as "Authorization: Bearer KEY".',
    'Under auth.keys of the configuration:',
    '',
    `    - ${inYaml(entry)}`,
  )
}

/** Texts are quoted, so that none is read as a number or a word of YAML. */
function inYaml(entry: Readonly<Record<string, string | readonly string[]>>): string {
  const parts = Object.entries(entry).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `{ ${parts.join(', ')} }`
}
