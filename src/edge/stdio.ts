import type { Readable, Writable } from 'node:stream'
import { Cancellation } from '../protocol/cancellation.js'
import { A2mError } from '../protocol/errors.js'
import { print } from '../protocol/json.js'
import { LineSplitter } from '../protocol/lines.js'
import type { Caller, Connection } from '../protocol/memory.js'
import { printError } from '../protocol/rpc.js'
import type { Served } from '../protocol/serve.js'
import type { Dispatch } from './dispatch.js'
import { InFlight } from './in-flight.js'
import { LineWriter } from './line-writer.js'

export interface StdioOptions {
  readonly input: Readable
  /** Nothing but JSON-RPC is written to it. */
  readonly output: Writable
  readonly served: Served
  /** The name of the protocol version that is spoken. */
  readonly version: string
  readonly caller: Caller
  readonly dispatch: Dispatch
  /** The longest line that is read, in bytes. */
  readonly maxLineBytes: number
  /** No more lines are read while this many are being worked on. */
  readonly maxInFlight: number
  /** Waited for before the end, so that what the last calls caused is still pushed. */
  readonly flushed?: (connection: Connection) => Promise<void>
}

/**
 * Serves newline-framed JSON-RPC (§8.2). Replies go out as they are ready, in any order. Resolves when the input has ended
 * and everything that came in is answered, or when the output is gone.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const session = new Session(options)
  await session.run()
}

class Session {
  readonly #options: StdioOptions
  readonly #writer: LineWriter
  readonly #inFlight = new InFlight()
  readonly #connection: Connection
  readonly #splitter: LineSplitter

  constructor(options: StdioOptions) {
    const closed = new Cancellation()
    this.#options = options
    this.#writer = new LineWriter(options.output, () => {
      closed.cancel()
      options.input.destroy()
    })
    this.#connection = {
      closed,
      push: (notification) => {
        this.#writer.write(print(notification))
        return this.#writer.drained()
      },
    }
    this.#splitter = new LineSplitter(options.maxLineBytes, () => this.#refuseOverlong())
  }

  async run(): Promise<void> {
    await this.#readAll()
    await this.#inFlight.below(1)
    await this.#options.flushed?.(this.#connection)
    await this.#writer.drained()
    this.#connection.closed.cancel()
  }

  async #readAll(): Promise<void> {
    try {
      for await (const chunk of this.#options.input) {
        for (const line of this.#splitter.push(asBuffer(chunk))) await this.#take(line)
      }
    } catch {
      return
    }
    const rest = this.#splitter.end()
    if (rest !== undefined) await this.#take(rest)
  }

  async #take(line: Buffer): Promise<void> {
    if (isBlank(line)) return
    const ticket = this.#inFlight.admit(line)
    if ('refused' in ticket) this.#writer.write(ticket.refused)
    else void this.#answer(line).finally(ticket.done)
    await this.#inFlight.below(this.#options.maxInFlight)
    await this.#writer.drained()
  }

  async #answer(bytes: Buffer): Promise<void> {
    const { dispatch, served, version, caller } = this.#options
    const connection = this.#connection
    const reply = await dispatch({ bytes, served, version, caller, connection })
    if (reply !== undefined) this.#writer.write(reply.text)
  }

  #refuseOverlong(): void {
    const message = `a line holds at most ${this.#options.maxLineBytes} bytes`
    this.#writer.write(printError(null, new A2mError('INVALID_REQUEST', message)))
  }
}

function asBuffer(chunk: unknown): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
}

function isBlank(line: Buffer): boolean {
  return line.length < 8 && line.toString('latin1').trim() === ''
}
