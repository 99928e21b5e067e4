import type { Method } from './methods.js'

/**
 * What one role lets its holder do; undefined is everything of that kind. Tiers and upstreams are the gateway's names, key
 * prefixes are paths (§3.6). `read` takes no writes at all.
 */
export interface Grant {
  readonly methods: ReadonlySet<Method> | undefined
  readonly tiers: ReadonlySet<string> | undefined
  readonly upstreams: ReadonlySet<string> | undefined
  readonly keyPrefixes: readonly string[] | undefined
  readonly access: 'read' | 'write'
}

/** What a caller may do: whatever one of its roles grants by itself. None is nothing; undefined, where no roles are defined, everything. */
export type Access = readonly Grant[] | undefined
