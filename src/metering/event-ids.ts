import { createIds } from '../protocol/ids.js'
import type { Clock } from '../protocol/time.js'

const POOL = 4096

/** Makes the ids of events. Chance is taken by the kilobyte: each call of the system for eight bytes costs more than the rest. */
export function createEventIds(
  clock: Clock,
  randomBytes: (size: number) => Uint8Array,
): () => string {
  return createIds(() => clock.now(), pooled(randomBytes))
}

function pooled(randomBytes: (size: number) => Uint8Array): (size: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  return (size) => {
    if (used + size > pool.length) {
      pool = randomBytes(Math.max(POOL, size))
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}
