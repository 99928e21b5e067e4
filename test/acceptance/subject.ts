import { checkResult } from '../../src/protocol/checks.js'
import type { A2mError } from '../../src/protocol/errors.js'
import { JsonText } from '../../src/protocol/json.js'
import type { Capability, Method, ResultOf } from '../../src/protocol/methods.js'
import { readReply } from '../../src/protocol/rpc.js'

/** The owners that the suite acts for. `carl` is for checks that need an owner with few records. */
export type OwnerName = 'anna' | 'ben' | 'carl'

/** What a subject is expected to be; the suite checks what it says of itself against this. */
export interface Traits {
  readonly capabilities: readonly Capability[]
  /** Its tiers in their order; the first takes records that name none. */
  readonly tiers: readonly [string, string, ...string[]]
  /** A bounded tier, where there is one. */
  readonly spill?: { readonly tier: string; readonly capacity: number; readonly into: string }
  /**
   * How an owner is told: by whom a message comes from, or by the caller naming one, as who may act for all owners does.
   * Undefined where owners are not kept apart.
   */
  readonly owners: 'principal' | 'parameter' | undefined
  /** Use is counted as stores count it that cannot be told which of the records that they gave went out. */
  readonly use?: 'as given'
}

/** An A2M memory under test. */
export interface Subject {
  /** Carries one message there and the reply back; undefined where none came. `owner` is whose credentials are shown. */
  send(text: string, owner: OwnerName): Promise<string | undefined>
  close(): Promise<void>
}

/** Opens a fresh, empty memory. */
export type Open = () => Promise<Subject>

export interface ClientOptions {
  readonly subject: Subject
  readonly traits: Traits
  readonly owner: OwnerName
  /** Makes request ids that no other client of the subject has. */
  readonly newId: () => string
}

/** One owner's view of a subject. */
export class Client {
  readonly #subject: Subject
  readonly #traits: Traits
  readonly #owner: OwnerName
  readonly #newId: () => string

  constructor({ subject, traits, owner, newId }: ClientOptions) {
    this.#subject = subject
    this.#traits = traits
    this.#owner = owner
    this.#newId = newId
  }

  /** A result, checked against the shapes of the specification; rejects with the subject's `A2mError`. */
  async call<M extends Method>(method: M, params: object = {}): Promise<ResultOf<M>> {
    return checkResult(method, await this.request(method, this.#asOwner(method, params)))
  }

  /** The code of the error that a call fails with; undefined where it does not. */
  async code(method: string, params: unknown = {}): Promise<number | undefined> {
    try {
      await this.request(method, isPlain(params) ? this.#asOwner(method, params) : params)
    } catch (thrown) {
      return (thrown as A2mError).code
    }
    return undefined
  }

  /** Sends params as they are. */
  async request(method: string, params: unknown): Promise<unknown> {
    const id = this.#newId()
    const text = await this.send(textOf({ jsonrpc: '2.0', id, method, params }))
    const reply: { id?: unknown } = JSON.parse(text ?? 'null')
    if (reply?.id !== id)
      throw new Error(`${method} was answered under ${JSON.stringify(reply?.id)}`)
    // The reader of replies knows numbers alone, as the gateway sends no other ids.
    const read = readReply((text ?? '').replace(JSON.stringify(id), '1'))
    if ('error' in read) throw read.error
    return 'result' in read ? read.result : undefined
  }

  send(text: string): Promise<string | undefined> {
    return this.#subject.send(text, this.#owner)
  }

  #asOwner(method: string, params: object): object {
    if (this.#traits.owners !== 'parameter') return params
    const named = { owner: this.#owner }
    const unnamed = method === 'memory/promote' || method === 'memory/consolidate'
    return unnamed ? { 'a2m-gateway': named, ...params } : { ...named, ...params }
  }
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON in which metadata that was given as its source stays so. */
export function textOf(message: unknown): string {
  return JsonText.of(message).text
}

/** Makes words that are never the same, to tell one check's records from another's. */
export function createMarks(prefix: string): () => string {
  let last = 0
  return () => `${prefix}${(++last).toString(36)}x`
}

/** Metadata by which `where` finds the records of one check. */
export function marked(mark: string): { readonly mark: string } {
  return { mark }
}

/** What the checks of one memory share: it is opened once, and every check marks its records with a word of its own. */
export interface Bench {
  readonly traits: Traits
  /** One owner's view of the memory, anna's unless named. */
  client(owner?: OwnerName): Client
  readonly mark: () => string
}
