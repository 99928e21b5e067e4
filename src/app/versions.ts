import type { Config } from '../config/config.js'
import { ConfigError } from '../config/errors.js'
import type { VersionConfig } from '../config/versions.js'
import { retirementHeaders } from '../edge/retirement.js'
import type { Version, Versions } from '../edge/versions.js'
import { withVersion } from '../edge/with-version.js'
import type { Served } from '../protocol/serve.js'
import { PROTOCOL } from '../protocol/versions.js'
import type { Closers } from './closers.js'
import type { Core } from './core.js'
import type { Cores } from './cores.js'
import type { AppDeps } from './deps.js'
import { openThrough } from './through.js'
import { faultOfThrough } from './through-check.js'

export interface VersionParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly cores: Cores
  readonly closers: Closers
}

/** Every version of a configuration with what serves it, the default one first. Nothing is asked of servers elsewhere yet. */
export async function openVersions(parts: VersionParts): Promise<Versions> {
  const versions = new Map<string, Version>()
  for (const version of parts.config.versions) {
    versions.set(version.name, await openVersion(version, parts))
  }
  return versions
}

async function openVersion(version: VersionConfig, parts: VersionParts): Promise<Version> {
  const { name, serves } = version
  const retirement = retirementHeaders(version)
  if (serves.kind === 'upstream') {
    return {
      through: await openThrough({ name, serves, shared: parts.cores, ...parts }),
      retirement,
    }
  }
  const core = parts.cores.all.find((one) => one.name === serves.federation)
  if (core === undefined) throw new TypeError(`federation ${serves.federation} was not opened`)
  const supported = parts.config.versions.map((one) => one.name)
  return { served: underName(core.served, name, supported), retirement }
}

/** What keeps the servers that versions are passed on to from answering, for people. */
export async function faultsOfVersions(
  parts: Omit<VersionParts, 'closers'>,
): Promise<readonly string[]> {
  const faults = parts.config.versions.map(async ({ name, serves }) => {
    if (serves.kind === 'federation') return []
    const fault = await faultOfThrough({ name, serves, shared: parts.cores, deps: parts.deps })
    return fault === undefined ? [] : [`version ${name}: ${new URL(serves.url).origin}: ${fault}`]
  })
  return (await Promise.all(faults)).flat()
}

/** The one version that there is without any in the configuration needs no name but its own. */
function underName(served: Served, name: string, supported: readonly string[]): Served {
  if (name === PROTOCOL && supported.length === 1) return served
  return withVersion(served, { name, supported })
}

/** The name of the version that serves requests that name none. */
export function nameOfDefault({ versions }: Config): string {
  return versions[0]?.name ?? PROTOCOL
}

/** The federation of the default version; undefined where that is passed on. */
export function defaultCore({ versions }: Config, cores: readonly Core[]): Core | undefined {
  const serves = versions[0]?.serves
  if (serves?.kind !== 'federation') return undefined
  return cores.find(({ name }) => name === serves.federation)
}

/** The memory that serves a version; undefined where that is passed on. */
export function servedBy(versions: Versions, name: string): Served | undefined {
  const version = versions.get(name)
  return version !== undefined && 'served' in version ? version.served : undefined
}

/** Stdio carries no HTTP, and serves the default version. */
export function onlyOverHttp(config: Config): ConfigError {
  return new ConfigError(
    ['versions', nameOfDefault(config), 'url'],
    'requests are passed on over HTTP alone, and stdio serves the default version; give default: true to one that a federation serves',
  )
}
