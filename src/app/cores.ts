import type { Config } from '../config/config.js'
import { qualified, servedViews } from '../config/views.js'
import type { UpstreamStatus } from '../telemetry/metrics.js'
import type { Closers } from './closers.js'
import { type Core, openCore } from './core.js'
import type { AppDeps } from './deps.js'
import { Standing } from './events.js'
import { openShared, type Shared } from './shared.js'

/** A gateway without its edges: every federation that some version is served by, in the order of the file. */
export interface Cores extends Shared {
  readonly all: readonly Core[]
}

/** Opens everything from the inside out; what was opened is told to `closers` at once. */
export async function openCores(config: Config, deps: AppDeps, closers: Closers): Promise<Cores> {
  const parts = servedViews(config).map((view) => ({
    view,
    standing: new Standing(view.config.federation.upstreams),
  }))
  const upstreams = (): readonly UpstreamStatus[] =>
    parts.flatMap(({ view, standing }) => standing.all().map((one) => statusOf(view.name, one)))
  const shared = await openShared({ config, deps, upstreams, closers })
  const all: Core[] = []
  for (const part of parts) all.push(await openCore({ ...part, shared, deps, closers }))
  shared.metering?.begin()
  return { ...shared, all }
}

function statusOf(federation: string, { upstream, ...rest }: UpstreamStatus): UpstreamStatus {
  return { upstream: qualified(federation, upstream), ...rest }
}
