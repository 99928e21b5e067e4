import { A2mError } from '../protocol/errors.js'
import type { JsonText } from '../protocol/json.js'
import { printError, readRequest } from '../protocol/rpc.js'

/** Leave to work on a line, or the reply that refuses it. */
export type Ticket = { readonly done: () => void } | { readonly refused: string }

/**
 * The lines of one connection that are being worked on; no two may carry one id, since their replies could not be told
 * apart. The id of a line that is alone is read only when another comes, so that callers who wait for each reply pay nothing.
 */
export class InFlight {
  readonly #names = new Set<string>()
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = []
  #count = 0
  #unread: Line | undefined

  admit(bytes: Buffer): Ticket {
    const line: Line = { bytes, name: undefined }
    if (this.#count === 0) this.#unread = line
    else {
      this.#readFirst()
      const id = idOf(bytes)
      if (id !== undefined && this.#names.has(nameOf(id))) return { refused: refusal(id) }
      this.#note(line, id)
    }
    this.#count++
    return { done: () => this.#remove(line) }
  }

  /** Resolves as soon as fewer than `count` lines are being worked on. */
  below(count: number): Promise<void> {
    if (this.#count < count) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }

  #readFirst(): void {
    const first = this.#unread
    this.#unread = undefined
    if (first !== undefined) this.#note(first, idOf(first.bytes))
  }

  #note(line: Line, id: JsonText | undefined): void {
    if (id === undefined) return
    line.name = nameOf(id)
    this.#names.add(line.name)
  }

  #remove(line: Line): void {
    this.#count--
    if (this.#unread === line) this.#unread = undefined
    if (line.name !== undefined) this.#names.delete(line.name)
    for (const waiter of this.#waiting.splice(0)) {
      if (this.#count < waiter.count) waiter.resolve()
      else this.#waiting.push(waiter)
    }
  }
}

interface Line {
  readonly bytes: Buffer
  /** Undefined where it has no id or none has been read. */
  name: string | undefined
}

function idOf(bytes: Buffer): JsonText | undefined {
  const reading = readRequest(bytes.toString('utf8'))
  return 'request' in reading ? reading.request.id : undefined
}

/** 1 and 1.0 are one id, 1 and "1" are two; numbers that a double does not hold are told apart by their text. */
function nameOf(id: JsonText): string {
  const value = id.value()
  return typeof value === 'number' && Number.isSafeInteger(value)
    ? `number ${value}`
    : `${typeof value} ${typeof value === 'string' ? value : id.text}`
}

function refusal(id: JsonText): string {
  return printError(
    id,
    new A2mError('INVALID_REQUEST', 'a request with this id is still being worked on'),
  )
}
