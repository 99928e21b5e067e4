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
  /** `none` leaves alone what a gateway that runs beside this one has begun; for a look at what a configuration amounts to. */
  readonly state: 'file' | 'none'
}
