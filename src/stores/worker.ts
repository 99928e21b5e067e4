import { randomBytes } from 'node:crypto'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Cancellation } from '../protocol/cancellation.js'
import { withContract } from '../protocol/contract.js'
import { toA2mError } from '../protocol/errors.js'
import { createIds } from '../protocol/ids.js'
import { type Context, GATEWAY_ROLE, type Memory } from '../protocol/memory.js'
import { isMethod, type Method, type ParamsOf, type ResultOf } from '../protocol/methods.js'
import { printError, printResult, readRequest } from '../protocol/rpc.js'
import type { Served } from '../protocol/serve.js'
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

/**
 * Answers one request. It comes from the thread that started this one, which has checked it: to check it again, the schemas
 * would have to be loaded, and that takes longer than everything else in the start of a store.
 */
async function answer(message: string, served: Served): Promise<string> {
  const reading = readRequest(message)
  if ('error' in reading) return printError(reading.id ?? null, reading.error)
  const { id = null, method, params } = reading.request
  try {
    if (id === null || !isMethod(method)) throw new TypeError(`not a request: ${method}`)
    return printResult(id, method, await perform(method, params, served))
  } catch (thrown) {
    return printError(id, toA2mError(thrown))
  }
}

function perform(method: Method, params: unknown, served: Served): Promise<ResultOf<Method>> {
  const refusal = served.refusal(method, GATEWAY)
  if (refusal !== undefined) throw refusal
  return served.call(method, (params ?? {}) as ParamsOf<Method>, GATEWAY)
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
      port.postMessage(await answer(message, served))
      return
    }
    await store.close()
    port.close()
  })
  port.postMessage({ kind: 'ready' } satisfies WorkerNotice)
}

if (parentPort !== null) start(parentPort, workerData as StoreOptions)
