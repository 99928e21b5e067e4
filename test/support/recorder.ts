import type { Context, Memory } from '../../src/protocol/memory.js'
import type { Method } from '../../src/protocol/methods.js'

/** One call as it reached the innermost memory. */
export interface Recorded {
  readonly method: Method
  readonly params: Readonly<Record<string, unknown>>
  readonly context: Context
}

/** A memory that notes what reaches it and answers everything with one result, taken on trust. */
export function createRecorder(result: unknown = {}): {
  readonly memory: Memory
  readonly seen: Recorded[]
} {
  const seen: Recorded[] = []
  const memory: Memory = {
    call: async (method, params, context) => {
      seen.push({ method, params: params as Recorded['params'], context })
      return result as never
    },
    close: async () => {},
  }
  return { memory, seen }
}
