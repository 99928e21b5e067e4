import type { Clock } from '../protocol/time.js'
import { type Backoff, DEFAULT_BACKOFF, type Schedule, systemSchedule } from './backoff.js'
import { launchChild } from './child.js'
import type { TransportEvents } from './events.js'
import { ProcessGroups } from './process-group.js'
import { SupervisedWire } from './supervised.js'
import type { Wire } from './wire.js'

export interface StdioOptions {
  /** The program and its arguments; no shell reads them. */
  readonly command: readonly [string, ...string[]]
  /** What the child gets by name, over the basics. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Where the basics are taken from; nothing else of it reaches the child. */
  readonly baseEnv: Readonly<Record<string, string | undefined>>
  readonly cwd?: string | undefined
  readonly clock: Clock
  /** A number from 0 to 1, for the jitter of restarts. */
  readonly random: () => number
  readonly events?: TransportEvents | undefined
  /** Shared by all children of a program, which ends them when it ends. */
  readonly groups?: ProcessGroups | undefined
  readonly schedule?: Schedule | undefined
  readonly backoff?: Backoff | undefined
  /** Ms that a child has to end after its stdin was closed, and again after SIGTERM; 2000 unless given. */
  readonly grace?: number | undefined
  /** The largest reply that is taken, in bytes; 16 MiB unless given. */
  readonly maxReplyBytes?: number | undefined
}

/** The variables that every program may need and that hold no secret. */
const BASICS = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM'],
  ...['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
]
const DEFAULT_GRACE = 2000
const DEFAULT_MAX_REPLY_BYTES = 16 * 1024 * 1024

/**
 * An A2M server that is a child process and speaks over stdin and stdout (§8.2). Starts it at once, and again whenever it
 * ends. Closing ends its stdin, then its whole process group.
 */
export function createStdioWire(options: StdioOptions): Wire {
  const { schedule = systemSchedule, backoff = DEFAULT_BACKOFF, events = {} } = options
  const child = {
    command: options.command,
    env: childEnvironment(options.baseEnv, options.env ?? {}),
    cwd: options.cwd,
    groups: options.groups ?? new ProcessGroups(),
    schedule,
    grace: options.grace ?? DEFAULT_GRACE,
    maxLineBytes: options.maxReplyBytes ?? DEFAULT_MAX_REPLY_BYTES,
    events,
  }
  return new SupervisedWire({
    launch: (reports) => launchChild(child, reports),
    ...{ events, backoff, schedule, clock: options.clock, random: options.random },
  })
}

/** The basics of `base`, and everything in `named` on top. */
export function childEnvironment(
  base: Readonly<Record<string, string | undefined>>,
  named: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {}
  for (const name of BASICS) {
    const value = base[name]
    if (value !== undefined) environment[name] = value
  }
  return { ...environment, ...named }
}
