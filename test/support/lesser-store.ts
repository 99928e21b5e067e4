import { EXTENSION } from '../../src/protocol/extension.js'
import type { Memory } from '../../src/protocol/memory.js'
import type { Capability } from '../../src/protocol/methods.js'

/** The fields that come with a capability. */
const FIELDS: Readonly<Partial<Record<Capability, readonly string[]>>> = {
  salience: ['salience', 'access_count', 'accessed_at'],
  sessions: ['session'],
  keys: ['key', 'revision'],
  embeddings: ['embedding', 'embeddings'],
  external: ['uri', 'media_type'],
  scopes: ['owner'],
}

/**
 * A store of somebody else's: it understands no extension, and knows nothing of capabilities other than these. What it does not know it
 * neither takes nor tells.
 */
export function lesserStore(inner: Memory, capabilities: readonly Capability[]): Memory {
  const known = new Set<string>(capabilities)
  const unknown = Object.entries(FIELDS).flatMap(([capability, fields = []]) =>
    known.has(capability) ? [] : fields,
  )
  const plain = (value: object): object => {
    const kept = Object.entries(value).filter(
      ([name]) => name !== EXTENSION && !unknown.includes(name),
    )
    return Object.fromEntries(kept.map(([name, one]) => [name, without(name, one, plain)]))
  }
  return {
    async call(method, params, context) {
      const result = await inner.call(method, plain(params) as typeof params, context)
      const told = { ...plain(result), ...(method === 'memory/describe' ? { capabilities } : {}) }
      return told as typeof result
    },
    close: () => inner.close(),
  }
}

function without(name: string, value: unknown, plain: (value: object) => object): unknown {
  if (name === 'records' && Array.isArray(value)) return value.map((one) => plain(one))
  if (name === 'record' && typeof value === 'object' && value !== null) return plain(value)
  return value
}
