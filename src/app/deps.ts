import type { Clock } from '../protocol/time.js'
import type { Log } from '../telemetry/logs.js'

/** What a gateway takes from outside. */
export interface AppDeps {
  readonly clock: Clock
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly randomBytes: (size: number) => Uint8Array
  /** Where the basics of a child's environment are taken from; nothing else of it reaches one. */
  readonly baseEnv: Readonly<Record<string, string | undefined>>
  readonly log: Log
  /** `look` leaves alone what a gateway beside this one has begun, and puts up with what keeps it from serving. */
  readonly purpose: 'serve' | 'look'
}
