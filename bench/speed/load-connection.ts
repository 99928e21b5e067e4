import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const RESULT = Buffer.from('{"jsonrpc":"2.0","id":1,"result":')

/** One connection that carries one request after the other. It reads as much of HTTP as the measured servers write. */
export class Connection {
  /** Of all bodies together. */
  bytes = 0
  failures = 0
  /** What the last failure looked like, as far as it came at once. */
  failure = ''
  readonly #socket: Socket
  #held: Buffer | undefined
  #left = 0
  #done: () => void = () => {}
  #fail: (error: Error) => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed a connection')))
  }

  static async open(host: string, port: number): Promise<Connection> {
    const socket = connect({ host, port, noDelay: true })
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Resolves when the answer is there whole. */
  exchange(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#done = resolve
      this.#fail = reject
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#fail = () => {}
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#left > 0) {
      this.#took(chunk.length)
      return
    }
    const whole = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    const end = whole.indexOf(HEAD_END)
    this.#held = end < 0 ? whole : undefined
    if (end >= 0) this.#begin(whole.toString('latin1', 0, end), whole.subarray(end + 4))
  }

  /** What is there of the body tells whether it is a result; headers that end a chunk are too rare to wait for it. */
  #begin(head: string, body: Buffer): void {
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    if (Number.isNaN(length)) {
      this.#fail(new Error(`no content-length in:\n${head}`))
      return
    }
    const shown = body.subarray(0, RESULT.length)
    const good = head.startsWith('HTTP/1.1 200') && shown.equals(RESULT.subarray(0, shown.length))
    if (!good) {
      this.failures++
      this.failure = `${head}\r\n\r\n${body.toString('utf8', 0, 500)}`
    }
    this.bytes += length
    this.#left = length
    this.#took(body.length)
  }

  #took(bytes: number): void {
    this.#left -= bytes
    if (this.#left === 0) this.#done()
    else if (this.#left < 0) this.#fail(new Error('more came than the answer'))
  }
}
