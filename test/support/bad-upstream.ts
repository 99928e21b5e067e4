import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { BEHAVIOURS, type HttpKind, type Received } from './http-behaviours.js'

/** Kinds that are no HTTP server at all. */
const TCP_KINDS = {
  /** Takes connections and never says a word. */
  tcp_silent: (socket: Socket) => socket.resume(),
  /** Answers in another protocol. */
  garbage: (socket: Socket) => socket.on('data', () => socket.end('220 mail.example ESMTP\r\n')),
  /** Sends one more byte of the header every 50 ms, for ever. */
  trickled_headers: (socket: Socket) => {
    socket.once('data', () => {
      const timer = setInterval(() => socket.write('x'), 50)
      socket.on('close', () => clearInterval(timer)).write('HTTP/1.1 200 OK\r\nx-slow: ')
    })
  },
} as const satisfies Readonly<Record<string, (socket: Socket) => unknown>>

export type BadKind = HttpKind | keyof typeof TCP_KINDS | 'refused'

/** A real server on a loopback port that does one thing wrong, or nothing. */
export interface BadUpstream {
  readonly url: URL
  /** Every request that was read whole, oldest first. */
  readonly requests: readonly Received[]
  /** Connections taken so far. */
  readonly taken: number
  /** Resolves when `count` requests have been read. */
  received(count: number): Promise<void>
  /** Resolves when at least one connection has been taken and none is open. */
  hungUp(): Promise<void>
  close(): Promise<void>
}

/** Starts one on a free port. `refused` is a port on which nobody listens. */
export async function startBadUpstream(kind: BadKind): Promise<BadUpstream> {
  const upstream = new Upstream(serverFor(kind))
  await upstream.listen()
  if (kind === 'refused') await upstream.close()
  return upstream

  function serverFor(kind: BadKind): (upstream: Upstream) => Server {
    if (isTcpKind(kind)) return () => createTcpServer((socket) => void TCP_KINDS[kind](socket))
    return (upstream) => httpServer(kind === 'refused' ? 'healthy' : kind, upstream)
  }
}

function isTcpKind(kind: BadKind): kind is keyof typeof TCP_KINDS {
  return Object.hasOwn(TCP_KINDS, kind)
}

class Upstream implements BadUpstream {
  readonly requests: Received[] = []
  taken = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #changes = new EventEmitter()
  #port = 0

  constructor(make: (upstream: Upstream) => Server) {
    this.#server = make(this).on('connection', (socket: Socket) => this.#take(socket))
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/rpc`)
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = addressOf(this.#server).port
  }

  note(request: Received): void {
    this.requests.push(request)
    this.#changes.emit('change')
  }

  received(count: number): Promise<void> {
    return this.#until(() => this.requests.length >= count)
  }

  hungUp(): Promise<void> {
    return this.#until(() => this.taken > 0 && this.#sockets.size === 0)
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(socket: Socket): void {
    this.taken++
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#changes.emit('change')
    })
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#changes, 'change')
  }
}

function addressOf(server: Server): AddressInfo {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address
}

function httpServer(kind: HttpKind, upstream: Upstream): Server {
  const turns = new WeakMap<Socket, number>()
  const server = createServer(async (message, response) => {
    const request = await read(message)
    const turn = (turns.get(message.socket) ?? 0) + 1
    turns.set(message.socket, turn)
    upstream.note(request)
    BEHAVIOURS[kind]({ response, message, request, turn })
  })
  server.keepAliveTimeout = 0
  return server
}

async function read(message: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  const body = Buffer.concat(chunks).toString('utf8')
  const { method, url: path, rawHeaders } = message
  return { id: idOf(body), method, path, rawHeaders, body }
}

function idOf(body: string): number {
  const call: unknown = body === '' ? undefined : JSON.parse(body)
  return typeof call === 'object' && call !== null && 'id' in call ? Number(call.id) : Number.NaN
}
