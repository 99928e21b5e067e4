import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { withContract } from '../../src/protocol/contract.js'
import type { Capability, Method } from '../../src/protocol/methods.js'
import { type Served, serve } from '../../src/protocol/serve.js'
import { contextWithin } from './contexts.js'
import type { Received, Turn } from './http-behaviours.js'
import { PlainMemory, type PlainOptions } from './plain-memory.js'

/** One request to a plain server, and the ways in which it can be answered. */
export interface Exchange extends Turn {
  readonly method: Method
  /** Does what is asked and tells what the reply would be. */
  answer(): Promise<string>
  /** Sends a text as the JSON reply. */
  send(text: string): void
  /** Sends a result as the reply. */
  sendResult(result: unknown): void
}

/** What a plain server does with a request. */
export type Conduct = (exchange: Exchange) => unknown

/** Answers as it should. */
export const properly: Conduct = async (exchange) => exchange.send(await exchange.answer())

/** Does one thing with calls of one method, and answers all others as it should. */
export function onMethod(method: Method, conduct: Conduct): Conduct {
  return (exchange) => (exchange.method === method ? conduct(exchange) : properly(exchange))
}

/**
 * A store of somebody else's on a loopback port, with what it keeps in sight. It can be stopped and started again on its port,
 * and told to answer in other ways while it runs.
 */
export class PlainServer {
  readonly memory: PlainMemory
  /** Every request that was read whole, oldest first. */
  readonly requests: Received[] = []
  /** May be changed at any time. */
  conduct: Conduct = properly
  readonly #served: Served
  readonly #sockets = new Set<Socket>()
  readonly #changes = new EventEmitter()
  #server: Server
  #port = 0

  private constructor(options: PlainOptions) {
    this.memory = new PlainMemory(options)
    const capabilities = new Set((options.capabilities ?? ['core']) as Capability[])
    const { readOnly = false, limits = {} } = options
    this.#served = withContract(this.memory, () => ({ capabilities, readOnly, limits }))
    this.#server = this.#create()
  }

  /** Starts one that ends with the test. */
  static async start(
    options: PlainOptions = {},
    conduct: Conduct = properly,
  ): Promise<PlainServer> {
    const server = new PlainServer(options)
    await server.resume()
    server.conduct = conduct
    onTestFinished(() => server.stop())
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/rpc`
  }

  get contents(): string[] {
    return this.memory.records.map(({ content }) => content)
  }

  /** Cuts every connection and takes no more. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Answers as it should again, and listens where it did before. */
  async resume(): Promise<void> {
    this.conduct = properly
    if (this.#server.listening) return
    this.#server = this.#create()
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Resolves when `count` calls of a method have been read. */
  async received(method: Method, count = 1): Promise<void> {
    while (this.callsOf(method) < count) await once(this.#changes, 'change')
  }

  callsOf(method: Method): number {
    return this.requests.filter(({ body }) => body.includes(`"${method}"`)).length
  }

  /** Resolves when no connection is open. */
  async alone(): Promise<void> {
    while (this.#sockets.size > 0) await once(this.#changes, 'change')
  }

  #create(): Server {
    const turns = new WeakMap<Socket, number>()
    const server = createServer({ keepAliveTimeout: 0 }, async (message, response) => {
      const request = await read(message)
      const turn = (turns.get(message.socket) ?? 0) + 1
      turns.set(message.socket, turn)
      this.requests.push(request)
      this.#changes.emit('change')
      if (request.method === 'GET') response.writeHead(404).end()
      else await this.conduct(this.#exchange({ request, turn, message, response }))
    })
    return server.on('connection', (socket: Socket) => this.#take(socket))
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#changes.emit('change')
    })
  }

  #exchange(turn: Turn): Exchange {
    const { id, body } = turn.request
    const send = (text: string) => sendJson(turn.response, text)
    return {
      ...turn,
      method: JSON.parse(body).method,
      send,
      sendResult: (result) => send(JSON.stringify({ jsonrpc: '2.0', id, result })),
      answer: async () => (await serve(body, this.#served, contextWithin(10_000))).reply ?? '',
    }
  }
}

async function read(message: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  const body = Buffer.concat(chunks).toString('utf8')
  const { method, url: path, rawHeaders } = message
  const id = method === 'GET' ? Number.NaN : Number(JSON.parse(body).id)
  return { id, method, path, rawHeaders, body }
}

function sendJson(response: ServerResponse, text: string): void {
  const length = String(Buffer.byteLength(text))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
  response.end(text)
}
