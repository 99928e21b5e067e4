import { Fault } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import { printRequest, readReply } from '../protocol/rpc.js'
import { type Served, serve } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'
import type { StoreOptions } from '../stores/options.js'
import type { WorkerNotice } from '../stores/worker.js'
import { type Backoff, DEFAULT_BACKOFF, type Schedule, systemSchedule } from './backoff.js'
import { createClient, readResult } from './client.js'
import type { TransportEvents } from './events.js'
import { SupervisedWire } from './supervised.js'
import { launchWorker } from './worker-link.js'

export interface WorkerStoreOptions {
  /** What the store is to be. */
  readonly workerData: StoreOptions
  readonly clock: Clock
  /** A number from 0 to 1, for the jitter of restarts. */
  readonly random: () => number
  readonly events?: TransportEvents | undefined
  readonly schedule?: Schedule | undefined
  readonly backoff?: Backoff | undefined
  /** Ms that the worker has to end after it was asked to; 5000 unless given. */
  readonly grace?: number | undefined
  /** The module that the worker runs: the built-in stores' unless given. */
  readonly entry?: URL | undefined
}

const DEFAULT_GRACE = 5000

/**
 * Starts a built-in store in a worker thread and resolves when it is ready; rejects with an Error that carries the worker's
 * own words when it cannot start. A worker that ends later is started again.
 */
export async function createWorkerStore(options: WorkerStoreOptions): Promise<Memory> {
  const { schedule = systemSchedule, backoff = DEFAULT_BACKOFF, events = {} } = options
  const { clock, random, workerData, entry = storeWorker(), grace = DEFAULT_GRACE } = options
  let onStart: (notice: WorkerNotice) => void = () => {}
  const first = new Promise<WorkerNotice>((resolve) => {
    onStart = resolve
  })
  const wire = new SupervisedWire({
    launch: (reports) => launchWorker({ entry, workerData, schedule, grace, onStart }, reports),
    ...{ events, backoff, schedule, clock, random },
  })
  const start = await first
  if (start.kind === 'ready') return createClient(wire)
  await wire.close()
  throw new Error(start.message)
}

/** Found from the folder of this file's source and from that of built parts alike. */
function storeWorker(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new URL(`../stores/worker.${extension}`, import.meta.url)
}

/**
 * A served memory in this process, reached through JSON text and back as one elsewhere would be (§8.1). `contextFor` says on
 * whose behalf the other side works; it may hand on the context that it is given.
 */
export function createLoopback(served: Served, contextFor: (context: Context) => Context): Memory {
  let lastId = 0
  return {
    async call(method, params, context) {
      const id = ++lastId
      const { reply } = await serve(printRequest(id, method, params), served, contextFor(context))
      const response = reply === undefined ? undefined : readReply(reply)
      if (response === undefined || 'notification' in response) {
        throw new Fault('bad_reply', 'the server gave no answer')
      }
      return readResult(method, id, response)
    },
    close: () => served.close(),
  }
}
