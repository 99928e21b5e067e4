import { randomBytes } from 'node:crypto'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Cancellation } from '../protocol/cancellation.js'
import { withContract } from '../protocol/contract.js'
import { createIds } from '../protocol/ids.js'
import { type Context, GATEWAY_ROLE, type Memory } from '../protocol/memory.js'
import { serve } from '../protocol/serve.js'
import { systemClock } from '../protocol/time.js'
import type { StoreOptions } from './options.js'
import { openStore, storeContract } from './store.js'

/** What the worker tells besides replies, which are bare strings of JSON-RPC. */
export type WorkerNotice =
  | { readonly kind: 'ready' }
  /** The message is for the operator: it names the file. */
  | { readonly kind: 'failed'; readonly message: string }

/** What it is told besides requests, which are bare strings too: to write everything into its file, close it and end. */
export interface WorkerOrder {
  readonly kind: 'close'
}

/** The gateway that started the thread has resolved every owner by the time a call comes here. */
const GATEWAY: Context = {
  caller: { name: 'gateway', roles: [GATEWAY_ROLE], scope: { kind: 'all' } },
  cancellation: new Cancellation(),
  deadline: Number.POSITIVE_INFINITY,
  connection: { closed: new Cancellation() },
  trace: '0'.repeat(32),
  observe: () => {},
}

function start(port: MessagePort, options: StoreOptions): void {
  let store: Memory
  try {
    const newId = createIds(systemClock.now, randomBytes)
    store = openStore(options, { clock: systemClock, newId })
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : 'the store cannot be opened'
    port.postMessage({ kind: 'failed', message } satisfies WorkerNotice)
    return
  }
  const served = withContract(store, storeContract(options))
  port.on('message', async (message: string | WorkerOrder) => {
    if (typeof message === 'string') {
      const { reply } = await serve(message, served, GATEWAY)
      if (reply !== undefined) port.postMessage(reply)
      return
    }
    await store.close()
    port.close()
  })
  port.postMessage({ kind: 'ready' } satisfies WorkerNotice)
}

if (parentPort !== null) start(parentPort, workerData as StoreOptions)
