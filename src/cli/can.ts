import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Decision, RoleVerdict } from '../app/can.js'
import type { ApiKey } from '../config/api-key.js'
import type { Config } from '../config/config.js'
import { methodCalled, methodHint } from '../config/method-names.js'
import { didYouMean } from '../config/values.js'
import { checkParams } from '../protocol/checks.js'
import { CODES, messageOf } from '../protocol/errors.js'
import type { Method } from '../protocol/methods.js'
import { type ConfigOptions, readConfig, withConfigOption } from './config-file.js'
import { Failure, SAID } from './failure.js'
import { type Expiry, expired, expiryOf } from './key-expiry.js'
import { SYSTEM } from './system.js'
import { table } from './table.js'
import { coloursFor, say, type Terminal } from './terminal.js'
import { list, owners } from './values.js'

interface CanOptions extends ConfigOptions {
  readonly roles?: readonly string[]
  readonly owner?: string | readonly string[]
  readonly json?: true
}

const EXAMPLES = `
The decision is made from the configuration alone: no gateway has to run, and no upstream is asked. Who calls with a token stands
in no file; say with --roles and --owner what the token would. Methods may be written without memory/.

Examples:
  $ a2m-gateway can agent-a remember '{"records":[{"content":"x","key":"wf/1"}]}' --config gateway.yaml
  $ a2m-gateway can ann@example recall '{"query":"x","tier":"semantic"}' --roles reader --owner ann --config gateway.yaml

A key that has expired may nothing; where one of its name is still good, the caller is asked about as if it had only that one.

Exit codes: 0 it may, 1 it may not, 2 the configuration or the command line is wrong.
`

/** `can`: what a caller's roles decide of a call, and why. */
export function addCan(program: Command, terminal: Terminal): void {
  withConfigOption(
    program
      .command('can')
      .description('say whether a caller may make a call, and which role decides that')
      .argument('<name>', 'of a key in auth.keys; anything with --roles')
      .argument('<method>', 'such as memory/recall, or recall')
      .argument('[params]', 'a JSON object; "-" reads it from stdin', '{}'),
  )
    .option('--roles <roles>', 'the roles of a token, separated by commas', list)
    .option('--owner <owner>', 'whose records a token is for; "*" for every owner', owners)
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES)
    .action((name: string, method: string, params: string, options: CanOptions) =>
      can({ name, method: methodOf(method), params, options }, terminal),
    )
}

interface Asked {
  readonly name: string
  readonly method: Method
  readonly params: string
  readonly options: CanOptions
}

async function can({ name, method, params, options }: Asked, terminal: Terminal): Promise<void> {
  const { stdin, stdout, env } = terminal
  const checked = paramsOf(method, params === '-' ? await readAll(stdin) : params)
  const config = await readConfig(options, terminal)
  const { decide } = await import('../app/can.js')
  const decision = await decide(config, {
    person: personOf(name, options, config),
    method,
    params: checked,
  })
  const keys = options.roles === undefined ? keysOf(name, config) : []
  const expiry = expiryOf(keys, SYSTEM.clock.now())
  const told = { name, method, decision, expiry }
  if (options.json) say(stdout, JSON.stringify(asJson(told)))
  else say(stdout, ...asText(told, coloursFor(stdout, env)))
  if (decision.error !== undefined || expiry?.state === 'over') throw new Failure(1, SAID)
}

function methodOf(written: string): Method {
  const method = methodCalled(written)
  if (method !== undefined) return method
  throw new Failure(2, `no method ${written} in A2M; ${methodHint(written)}`)
}

function paramsOf<M extends Method>(method: M, written: string) {
  try {
    return checkParams(method, JSON.parse(written))
  } catch (thrown) {
    const why = messageOf(thrown)
    throw new Failure(2, `these are no params of ${method}: ${why}`)
  }
}

/** Keys of one name are one caller's, and agree. */
function personOf(name: string, { roles, owner }: CanOptions, config: Config) {
  if (roles !== undefined) {
    if (owner === undefined)
      throw new Failure(2, 'with --roles, say with --owner whose records it is about')
    return { name, roles, owner }
  }
  if (owner !== undefined) throw new Failure(2, '--owner is for the caller that --roles tells of')
  const [key] = keysOf(name, config)
  if (key !== undefined) return key
  throw new Failure(2, `no key in auth.keys is called ${name}; ${whoElse(name, config)}`)
}

function keysOf(name: string, { auth }: Config): readonly ApiKey[] {
  return (auth?.keys ?? []).filter((one) => one.name === name)
}

function whoElse(name: string, { auth }: Config): string {
  const names = (auth?.keys ?? []).map((one) => one.name)
  const hint = names.length === 0 ? 'the configuration has none' : didYouMean(name, names)
  if (auth === undefined || (auth.jwt.length === 0 && auth.mtls === undefined)) return hint
  return `${hint}. Of a caller with a token or a certificate, say with --roles and --owner what it would bring`
}

interface Told {
  readonly name: string
  readonly method: Method
  readonly decision: Decision
  readonly expiry: Expiry | undefined
}

/** A key that is over is refused with a 401, before any code of A2M. */
function asJson({ name, method, decision: { error, roles }, expiry }: Told): object {
  const verdict =
    expiry?.state === 'over'
      ? { allowed: false, message: expired(expiry) }
      : error === undefined
        ? { allowed: true }
        : { allowed: false, code: error.code, message: error.message }
  return { caller: name, method, ...verdict, ...(roles === undefined ? {} : { roles }) }
}

function asText(told: Told, colours: ReturnType<typeof coloursFor>): string[] {
  const { error, roles } = told.decision
  const { green, red, dim } = colours
  const { expiry } = told
  if (expiry?.state === 'over') return [`${red('no')}: ${expired(expiry)}`]
  const first =
    error === undefined
      ? `${green('yes')}: ${whyAllowed(told)}`
      : `${red('no')}: ${error.code} ${nameOf(error.code)}: ${error.message}`
  const rows = (roles ?? []).map(({ role, lacks }) => [
    `  ${role}`,
    { text: reasonOf(lacks), paint: dim },
  ])
  return [first, ...table(rows), ...(expiry === undefined ? [] : someExpired(expiry))]
}

function someExpired(expiry: Expiry): string[] {
  const { ended, keys } = expiry
  return ended.length === 0 ? [] : [`${ended.length} of its ${keys} keys ${expired(expiry)}`]
}

function whyAllowed({ name, method, decision: { roles } }: Told): string {
  if (roles === undefined)
    return `no roles are defined, so that ${name} may call whatever it likes for its owner`
  const by = roles.filter(({ lacks }) => lacks.length === 0)
  if (by.length > 0) return `${name} may call ${method} by the role ${listed(by)}`
  return `${name} may call ${method}`
}

function listed(roles: readonly RoleVerdict[]): string {
  return roles.map(({ role }) => role).join(' or by the role ')
}

function reasonOf(lacks: readonly string[]): string {
  return lacks.length === 0 ? 'allows all of it' : lacks.join(', ')
}

function nameOf(code: number): string {
  return Object.entries(CODES).find(([, value]) => value === code)?.[0] ?? 'error'
}
