import type { Clock } from '../protocol/time.js'
import type { Log } from './logs.js'
import type { Observer } from './report.js'

export interface SunsetLogOptions {
  readonly log: Log
  readonly clock: Clock
  /** The sunset of each version that has one, in ms since 1970. */
  readonly sunsets: ReadonlyMap<string, number>
  /** The shortest time between two lines about one version, in ms. */
  readonly everyMs: number
}

/** Tells who still calls a version that is past its sunset: at once, then every so often with the number of requests since. */
export function createSunsetLog({ log, clock, sunsets, everyMs }: SunsetLogOptions): Observer {
  const said = new Map<string, Said>()
  const note = (version: string, caller: string | undefined): void => {
    const sunset = sunsets.get(version)
    if (sunset === undefined || clock.now() < sunset) return
    const last = said.get(version)
    if (last !== undefined && clock.monotonic() - last.at < everyMs) {
      last.left++
      return
    }
    said.set(version, { at: clock.monotonic(), left: 0 })
    const fields = { version, sunset: new Date(sunset).toISOString(), caller }
    log.warn({ ...fields, left_out: last?.left ?? 0 }, 'a version is used after its sunset')
  }
  return {
    started() {},
    finished: ({ version, caller }) => note(version, caller.name),
    refused(_, version) {
      if (version !== undefined) note(version, undefined)
    },
  }
}

/** When it was last told of a version, and how many requests have not been told since. */
interface Said {
  readonly at: number
  left: number
}
