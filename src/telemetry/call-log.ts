import type { Ask } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'
import type { Log } from './logs.js'
import type { Observer } from './report.js'

/** One line a call. Costs more than the rest of telemetry together, so it is for those who ask for it. */
export function createCallLog(log: Log): Observer {
  return {
    started() {},
    finished({ trace, method, error, ms, bytesIn, bytesOut, asks, caller, ending }) {
      const fields = { trace, method, code: error?.code, ms: Math.round(ms * 1000) / 1000, ending }
      const from = { caller: caller.name, bytesIn, bytesOut, asks: asks.map(brief) }
      log.info({ ...fields, ...from }, 'call')
    },
    refused(status) {
      log.info({ status }, 'request refused')
    },
  }
}

function brief({ upstream, state, ms, attempts, count }: Ask): object {
  return { upstream, state, ms: Math.round(ms), attempts, count }
}

export interface FailureLogOptions {
  readonly log: Log
  readonly clock: Clock
  /** The shortest time between two lines about the same failure, in ms. */
  readonly everyMs: number
}

/** Tells of upstreams that fail, at once and then at most every so often, with the number of times that were left out. */
export function createFailureLog(options: FailureLogOptions): Observer {
  const say = createLimited(options)
  return {
    started() {},
    finished({ asks, trace }) {
      for (const ask of asks) {
        if (ask.state === 'failed' || ask.state === 'timeout') say(ask, trace)
      }
    },
    refused() {},
  }
}

interface Said {
  at: number
  left: number
}

/** Remembers one entry for each upstream and way to fail, which the configuration bounds. */
function createLimited({
  log,
  clock,
  everyMs,
}: FailureLogOptions): (ask: Ask, trace: string) => void {
  const said = new Map<string, Said>()
  return ({ upstream, method, state, code, reason, attempts, ms }, trace) => {
    const now = clock.monotonic()
    const name = `${state} ${upstream}`
    const last = said.get(name)
    if (last !== undefined && now - last.at < everyMs) {
      last.left++
      return
    }
    said.set(name, { at: now, left: 0 })
    const fields = { upstream, method, state, code, reason, attempts, ms: Math.round(ms), trace }
    log.warn({ ...fields, left_out: last?.left ?? 0 }, 'an upstream did not answer')
  }
}
