import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { EVERY_OWNER } from '../config/api-key.js'
import { newKey } from '../identity/keys.js'
import { formatInstant } from '../protocol/time.js'
import { SYSTEM } from './system.js'
import { say, type Terminal } from './terminal.js'
import { instantFrom, list, owners, something } from './values.js'

interface NewOptions {
  readonly name: string
  readonly owner: string | readonly string[]
  readonly expires?: number
  /** `false` is `--no-roles`. */
  readonly roles?: readonly string[] | false
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ a2m-gateway keys new --name agent-a --owner agent-a
  $ a2m-gateway keys new --name root --owner '*'                       may act for every owner; has no roles
  $ a2m-gateway keys new --name desk --owner ann,bob --expires 90d     may act for two, for a time
  $ a2m-gateway keys new --name outer --owner '*' --roles gateway      for a gateway in front of this one

Roles are names until the configuration defines roles; then a key may do what its roles allow, and one without any nothing. A key
wants none (--no-roles) where no roles are defined, or to be let in for nothing yet. The key of an admin needs a role that allows everything,
such as "admin: {}", and --roles admin.

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
      'a duration such as 90d, a day such as 2027-01-31, at whose beginning in UTC it ends, or an instant; without it the key is good until it is taken out',
      instantFrom(SYSTEM.clock.now),
    )
    .option(
      '--roles <roles>',
      'separated by commas; without it agent, and none for the owner "*"',
      list,
    )
    .option('--no-roles', 'none: it may do nothing where the configuration has roles')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES)
    .action((options: NewOptions) => makeKey(options, terminal))
}

function makeKey(options: NewOptions, { stdout }: Terminal): void {
  const { name, owner, expires, json } = options
  const roles = rolesOf(options)
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

/** What a key for every owner is for, a name of agents does not say. */
function rolesOf({ owner, roles }: NewOptions): readonly string[] {
  if (roles === false) return []
  return roles ?? (owner === EVERY_OWNER ? [] : ['agent'])
}

/** Texts are quoted, so that none is read as a number or a word of YAML. */
function inYaml(entry: Readonly<Record<string, string | readonly string[]>>): string {
  const parts = Object.entries(entry).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `{ ${parts.join(', ')} }`
}
