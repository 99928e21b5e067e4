import { z } from 'zod'
import type { Grant, RoleDefinitions } from '../protocol/access.js'
import { GATEWAY_ROLE } from '../protocol/memory.js'
import { SPECS } from '../protocol/methods.js'
import type { Config } from './config.js'
import { ConfigError, type Path } from './errors.js'
import { toMethods } from './method-names.js'
import { didYouMean, expected, oneOf, strict, text } from './values.js'
import { viewsOf } from './views.js'

const names = (what: string) =>
  z
    .array(text, expected(`must be a list of ${what}`))
    .min(1, `must name at least one; leave it out for all ${what}`)
    .optional()

/** One role as the file has it. */
export const roleSchema = strict({
  methods: names('methods'),
  tiers: names('tiers'),
  upstreams: names('upstreams'),
  key_prefixes: names('keys'),
  access: oneOf(['read', 'write']).default('write'),
})

type RoleFile = z.output<typeof roleSchema>

/** Turns the roles of the file, in its order, into what they grant. Throws a `ConfigError` for a method that does not exist. */
export function toRoles(
  entries: readonly (readonly [name: string, role: RoleFile])[],
): RoleDefinitions {
  return new Map(entries.map(([name, file]) => [name, toGrant(name, file)]))
}

function toGrant(
  role: string,
  { methods, tiers, upstreams, key_prefixes, access }: RoleFile,
): Grant {
  return Object.freeze({
    role,
    methods: methods && new Set(toMethods(methods, ['roles', role, 'methods'])),
    tiers: tiers && new Set(tiers),
    upstreams: upstreams && new Set(upstreams),
    keyPrefixes: key_prefixes,
    access,
  })
}

/** What roles demand of the rest, and the rest of them: names that exist, and nothing that one setting gives and another takes. */
export function checkRoles(config: Config): void {
  const { roles, auth } = config
  if (roles === undefined) return
  for (const grant of roles.values()) {
    checkMethods(grant)
    checkPlaces(grant, config)
  }
  if (auth === undefined) {
    throw new ConfigError(['roles'], 'bind nobody where nobody is known; add auth')
  }
  for (const { given, path } of [...rolesGiven(auth), ...rolesLimited(config)])
    refuseUndefined(roles, given, path)
}

/** Where an upstream may tell its own tiers, nobody knows them yet. */
function checkPlaces({ role, tiers, upstreams }: Grant, config: Config): void {
  const federations = viewsOf(config).map((view) => view.config.federation)
  const knownUpstreams = federations.flatMap((one) => one.upstreams.map(({ name }) => name))
  refuseUnknown(['roles', role, 'upstreams'], upstreams, knownUpstreams)
  if (federations.some((one) => one.tiers.length === 0)) return
  const knownTiers = federations.flatMap((one) => one.tiers.map(({ name }) => name))
  refuseUnknown(['roles', role, 'tiers'], tiers, knownTiers)
}

interface Given {
  readonly given: readonly string[]
  readonly path: Path
}

/** The roles that the configuration itself gives to callers; what tokens bring is not known before they come. */
function rolesGiven({ keys, jwt, mtls }: NonNullable<Config['auth']>): Given[] {
  return [
    ...keys.map(({ roles }, index) => ({ given: roles, path: ['auth', 'keys', index, 'roles'] })),
    ...jwt.map(({ roles }, index) => ({ given: roles, path: ['auth', 'jwt', index, 'roles'] })),
    ...(mtls === undefined ? [] : [{ given: mtls.roles, path: ['auth', 'mtls', 'roles'] }]),
  ]
}

/** A limit for a role that nobody can have would limit nobody. */
function rolesLimited({ quotas }: Config): Given[] {
  return (quotas?.limits ?? []).map(({ name, roles = [] }) => ({
    given: roles,
    path: ['quotas', 'limits', name, 'roles'],
  }))
}

function checkMethods({ role, methods, access }: Grant): void {
  if (methods === undefined) return
  const list = [...methods]
  const writing = list.findIndex((method) => SPECS[method].kind === 'write')
  if (access === 'read' && writing >= 0) {
    throw new ConfigError(
      ['roles', role, 'methods', writing],
      `${list[writing]} writes, and the role has access: read`,
    )
  }
  const pushed = list.indexOf('memory/events/subscribe')
  if (pushed >= 0 && !methods.has('memory/events')) {
    throw new ConfigError(
      ['roles', role, 'methods', pushed],
      'needs memory/events beside it: what is pushed is the log that it reads',
    )
  }
}

function refuseUnknown(
  path: Path,
  named: ReadonlySet<string> | undefined,
  known: readonly string[],
): void {
  const what = path.at(-1) === 'tiers' ? 'tier' : 'upstream'
  for (const [index, name] of [...(named ?? [])].entries()) {
    if (known.includes(name)) continue
    const hint = didYouMean(name, known)
    throw new ConfigError([...path, index], `there is no ${what} called ${name}; ${hint}`)
  }
}

/** The role of gateways need not be defined: it says whom to trust with the extension, and grants nothing by itself. */
function refuseUndefined(roles: RoleDefinitions, given: readonly string[], path: Path): void {
  for (const [index, name] of given.entries()) {
    if (roles.has(name) || name === GATEWAY_ROLE) continue
    const hint = didYouMean(name, [...roles.keys()])
    throw new ConfigError([...path, index], `there is no role called ${name}; ${hint}`)
  }
}
