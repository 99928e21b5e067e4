import type { Config } from './config.js'
import { ConfigError } from './errors.js'

/** What `owner: metadata` demands of an upstream. */
export function checkOwnerMetadata(upstreams: Config['federation']['upstreams']): void {
  for (const { name, owner, connect, ids } of upstreams) {
    if (owner !== 'metadata') continue
    if (connect.kind === 'store') {
      throw new ConfigError(
        ['upstreams', name, 'owner'],
        'metadata is for upstreams that know no owners; a built-in store keeps them apart itself: leave owner out',
      )
    }
    if (ids === 'foreign') {
      throw new ConfigError(
        ['upstreams', name, 'ids'],
        'foreign excludes owner: metadata, by which the gateway gives each record an id that says whose it is',
      )
    }
  }
}
