import type { UpstreamConfig } from '../config/config.js'
import type { Clock } from '../protocol/time.js'
import { type Reached, Upstream, type UpstreamEvents } from './upstream.js'

/** Where profiles outlive a restart. */
export interface ProfileKeeper {
  read(upstream: string): string | undefined
  write(upstream: string, profile: string): void
}

export interface RegistryOptions {
  readonly configs: readonly UpstreamConfig[]
  readonly reach: (config: UpstreamConfig) => Reached
  readonly profiles: ProfileKeeper
  readonly clock: Clock
  /** A number from 0 to 1, for the jitter of refreshes. */
  readonly random: () => number
  readonly events: UpstreamEvents
}

/** All upstreams of a federation, in the order of the configuration, kept up to date until closed. */
export interface Registry {
  readonly upstreams: readonly Upstream[]
  /** Counts up whenever a profile or a state changed, so that what was derived from them can be kept until then. */
  revision(): number
  /**
   * Waits for first readings that are under way, so that cold calls share one reading: for each as long as a call of that
   * upstream may take, and `patience` ms at the most.
   */
  settled(patience: number): Promise<void>
  close(): Promise<void>
}

/** The first wait, in ms, before an upstream that could not be read is tried again; it doubles up to the refresh time. */
const FIRST_RETRY = 250

/** Opens every upstream and starts reading their profiles; does not wait for any. */
export function createRegistry(options: RegistryOptions): Registry {
  let revision = 0
  const events: UpstreamEvents = {
    ...options.events,
    state(upstream, state, reason) {
      revision++
      options.events.state(upstream, state, reason)
    },
  }
  const upstreams = options.configs.map((config) => openUpstream(config, { ...options, events }))
  const schedules = upstreams.map((upstream) =>
    keepFresh(upstream, options.random, () => revision++),
  )
  return {
    upstreams,
    revision: () => revision,
    settled: (patience) => settle(upstreams, patience),
    async close() {
      for (const stop of schedules) stop()
      await Promise.allSettled(upstreams.map((upstream) => upstream.close()))
    },
  }
}

function openUpstream(config: UpstreamConfig, options: RegistryOptions): Upstream {
  const { reach, profiles, clock, events } = options
  return new Upstream({
    config,
    reached: reach(config),
    clock,
    events,
    stored: profiles.read(config.name),
    store: (profile) => profiles.write(config.name, profile),
  })
}

/** Reads now and again and again, jittered so that upstreams are not asked in step. Returns the stop. */
function keepFresh(upstream: Upstream, random: () => number, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let retry = FIRST_RETRY
  const turn = async () => {
    await upstream.refresh()
    changed()
    if (stopped) return
    const { refresh } = upstream.config
    const healthy = upstream.state === 'up'
    const wait = healthy ? refresh : Math.min(retry, refresh)
    retry = healthy ? FIRST_RETRY : wait * 2
    timer = setTimeout(turn, wait * (0.8 + 0.4 * random())).unref()
  }
  void turn()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

async function settle(upstreams: readonly Upstream[], patience: number): Promise<void> {
  const unread = upstreams.filter(({ profile }) => profile === undefined)
  await Promise.all(
    unread.map(({ firstReading, config }) =>
      firstReading === undefined
        ? undefined
        : atMost(Math.min(patience, config.timeout), firstReading),
    ),
  )
}

async function atMost(patience: number, task: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patience)
  })
  await Promise.race([task, limit])
  clearTimeout(timer)
}
