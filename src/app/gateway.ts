import type { Readable, Writable } from 'node:stream'
import type { Config } from '../config/config.js'
import type { Address, HttpListener } from '../edge/listener.js'
import { Closers } from './closers.js'
import { openCores } from './cores.js'
import type { AppDeps } from './deps.js'
import { adminEdge, type EdgeParts, overStdio, publicEdge } from './edges.js'
import { openEntrance, warnOfReadable } from './entrance.js'
import { ListenError, type ListenerName } from './listen-error.js'
import { type GatewayReport, gatewayReport } from './overview.js'
import { warnOfStrangers } from './quota-problems.js'
import { faultsAround } from './surroundings.js'
import { faultsOfVersions, openVersions } from './versions.js'

/** Where a gateway listens; no `admin` where the configuration turns it off. */
export interface Addresses {
  readonly listen: Address
  readonly admin: Address | undefined
}

/** A gateway whose upstreams are open. It serves nobody until it is told to. */
export interface App {
  /** Rejects with a `ListenError` where a port cannot be had; the app is then still to be closed. */
  listen(): Promise<Addresses>
  /** Resolves when the input has ended and what came in is answered. */
  serveStdio(input: Readable, output: Writable): Promise<void>
  /** Asks every upstream anew what it is, then tells. */
  report(): Promise<GatewayReport>
  /**
   * Takes callers, roles and certificates from another configuration without dropping a connection; gives the keys of the file
   * under which something has changed that counts only from the next start on. Rejects, and changes nothing, where they cannot
   * be used.
   */
  reload(next: Config): Promise<readonly string[]>
  /** Calls under way are finished within the configuration's limit. */
  close(): Promise<void>
}

/** Puts a gateway together. Throws one Error that names the file or folder where its data cannot be used. */
export async function openApp(config: Config, deps: AppDeps): Promise<App> {
  const closers = new Closers()
  try {
    const cores = await openCores(config, deps, closers)
    const { metricRegistry } = cores
    const entrance = await openEntrance(config, { ...deps, metricRegistry })
    const versions = await openVersions({ config, deps, cores, closers })
    return createApp({ config, deps, cores, versions, entrance }, closers)
  } catch (thrown) {
    await closers.close()
    throw thrown
  }
}

interface Place {
  readonly host: string
  readonly port: number
}

function createApp(parts: EdgeParts, closers: Closers): App {
  const { config, cores } = parts
  return {
    async listen() {
      const { listen, admin } = config
      const adminAddress = admin && (await open('admin', adminEdge(parts), admin))
      const address = await open('listen', publicEdge(parts), listen)
      warnOfReadable(config, address.host, parts.deps.log)
      warnOfStrangers(config, parts.deps.log)
      return { listen: address, admin: adminAddress }

      async function open(name: ListenerName, edge: HttpListener, at: Place): Promise<Address> {
        closers.add(() => edge.close(config.limits.shutdownTimeout))
        try {
          return await edge.listen(at.host, at.port)
        } catch (thrown) {
          throw new ListenError(name, thrown)
        }
      }
    },
    serveStdio: (input, output) => overStdio(parts, input, output),
    async report() {
      const upstreams = cores.all.flatMap(({ registry }) => registry.upstreams)
      await Promise.all(upstreams.map((upstream) => upstream.refresh()))
      const silent = await faultsOfVersions({ config, deps: parts.deps, cores })
      return gatewayReport(config, cores, [...silent, ...(await faultsAround(config))])
    },
    reload: (next) => parts.entrance.reload(next),
    close: () => closers.close(),
  }
}
