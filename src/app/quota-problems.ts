import type { AuthConfig } from '../config/auth.js'
import type { Config } from '../config/config.js'
import type { QuotaConfig } from '../config/quotas.js'
import { didYouMean } from '../config/values.js'
import type { Log } from '../telemetry/logs.js'

/** Limits that name somebody whom nobody can be, so that they limit nobody. Tokens and certificates may bring any name. */
export function quotaProblems({ quotas, auth, roles }: Config): readonly string[] {
  const known = auth === undefined ? OPEN : knownBy(auth)
  if (known === undefined) return []
  const { limits = [] } = quotas ?? {}
  // Roles that are defined may be given to somebody later on, and others are refused.
  const all = roles === undefined ? known : { ...known, roles: undefined }
  return limits.flatMap((limit) => strangersIn(limit, all))
}

/** Says so once, at a start, where there are such limits: a name that is misspelt lets everybody through. */
export function warnOfStrangers(config: Config, log: Log): void {
  const wrong = quotaProblems(config)
  if (wrong.length > 0) log.warn({ wrong }, 'limits name somebody whom nobody can be')
}

/** The names that are possible; undefined where any is. */
type Known = { readonly [Part in 'callers' | 'owners' | 'roles']: readonly string[] | undefined }

/** Without `auth`; over stdio, owners are whatever the caller says. */
const OPEN: Known = { callers: ['anonymous', 'stdio'], owners: undefined, roles: [] }

function knownBy({ keys, jwt, mtls }: AuthConfig): Known | undefined {
  if (jwt.length > 0 || mtls !== undefined) return undefined
  const owners = keys.flatMap(({ owner }) => owner)
  return {
    callers: ['stdio', ...keys.map(({ name }) => name)],
    owners: owners.includes('*') ? undefined : owners,
    roles: keys.flatMap((key) => key.roles),
  }
}

const PARTS = { callers: 'name', owners: 'owner', roles: 'role' } as const

function strangersIn(limit: QuotaConfig, known: Known): string[] {
  return (['callers', 'owners', 'roles'] as const).flatMap((part) => {
    const possible = known[part]
    if (possible === undefined) return []
    return (limit[part] ?? []).flatMap((name, index) => {
      if (possible.includes(name)) return []
      const hint = possible.length === 0 ? 'nobody has any' : didYouMean(name, possible)
      const problem = `no caller has the ${PARTS[part]} ${name}, so that nobody is limited by it`
      return [`quotas.limits.${limit.name}.${part}[${index}]: ${problem}; ${hint}`]
    })
  })
}
