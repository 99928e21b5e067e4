import type { Config } from './config.js'
import { ConfigError, type Path } from './errors.js'
import { didYouMean } from './values.js'
import { DEFAULT_FEDERATION, type VersionConfig } from './versions.js'

/** What metrics call every version that is not spoken. */
const TAKEN = 'other'

/** What versions demand of each other and of the rest. `stated`: whether the file names upstreams at its top. */
export function checkVersions(config: Config, stated: 'upstreams' | 'nothing'): void {
  for (const version of config.versions) checkVersion(version, config)
  const unserved = config.federations.find(({ name }) => !isServed(name, config))
  if (unserved !== undefined) {
    throw new ConfigError(
      ['federations', unserved.name],
      'no version is served by it, so nobody could reach it; name it under versions, or take it out',
    )
  }
  if (stated === 'upstreams' && !isServed(DEFAULT_FEDERATION, config)) {
    throw new ConfigError(
      ['upstreams'],
      `no version is served by them, so nobody could reach them; write federation: ${DEFAULT_FEDERATION} for one under versions, or take them out`,
    )
  }
}

function isServed(federation: string, { versions }: Config): boolean {
  return versions.some(
    ({ serves }) => serves.kind === 'federation' && serves.federation === federation,
  )
}

function checkVersion(version: VersionConfig, config: Config): void {
  const { name, serves } = version
  const path = ['versions', name]
  if (name === TAKEN) {
    throw new ConfigError(path, 'is what metrics call versions that are not spoken; choose another')
  }
  if (serves.kind === 'federation') mustExist(serves.federation, config, path)
  else if (config.auth === undefined) {
    throw new ConfigError(
      [...path, 'url'],
      'nobody would be let through to it: only callers who may act for every owner are, and without auth there are none',
    )
  }
  checkDates(version, path)
}

function mustExist(federation: string, { federations }: Config, path: Path): void {
  const known = [DEFAULT_FEDERATION, ...federations.map(({ name }) => name)]
  if (known.includes(federation)) return
  throw new ConfigError(
    [...path, 'federation'],
    `there is no federation called ${federation}; ${didYouMean(federation, known)}`,
  )
}

/** See RFC 9745, section 4: nothing goes before it is deprecated. */
function checkDates({ deprecated, sunset, link }: VersionConfig, path: Path): void {
  if (deprecated !== undefined && sunset !== undefined && sunset < deprecated) {
    throw new ConfigError([...path, 'sunset'], 'is before deprecated')
  }
  if (link !== undefined && deprecated === undefined && sunset === undefined) {
    throw new ConfigError(
      [...path, 'link'],
      'says more about deprecated or sunset; set one of them',
    )
  }
}
