import { setTimeout as pause } from 'node:timers/promises'
import { A2mError, Fault } from '../protocol/errors.js'
import { JsonText } from '../protocol/json.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { Capability, Description, Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Entry, MemoryRecord } from '../protocol/records.js'
import type { Claim } from './report.js'

export interface LabOptions {
  readonly memory: Memory
  readonly told: Description
  /** How callers' owners reach it; `none` where the configuration says so. */
  readonly owners: 'parameter' | 'none'
  /** A name that nobody else has, for everything that is written. */
  readonly mark: string
  /** A context for one call. */
  readonly context: () => Context
}

/** An entry of a probe; ids and marks are filled in. */
export type Sample = Omit<Entry, 'metadata'> & { readonly metadata?: object }

/** The name under which the mark of a probe stands in metadata. */
const MARK = 'a2m_probe'
const STEP = 'a2m_probe_step'
/** Records that are read back at most; a check writes far fewer. */
const MOST = 20
/** Ms between two writes whose order must be told by their instants. */
const APART = 5

/** Tries what one capability promises. Throws what a call threw where that keeps it from going on. */
export type Check = (lab: Lab, claim: Claim) => Promise<void>

/** What the checks of one probe share: marked records go in, and everything that went in can be found again. */
export class Lab {
  readonly told: Description
  readonly mark: string
  /** Whose records they are, where owners are kept apart; `other` is for looking over the fence. */
  readonly owner: string | undefined
  readonly other: string | undefined
  readonly #options: LabOptions
  /** The method that was called last. */
  asked: Method | undefined
  readonly #written = new Map<string, string | undefined>()
  #last = 0

  constructor(options: LabOptions) {
    const { told, mark, owners } = options
    this.#options = options
    this.told = told
    this.mark = mark
    const apart = owners === 'parameter' && told.capabilities.includes('scopes')
    this.owner = apart ? `${mark}-owner` : undefined
    this.other = apart ? `${mark}-other` : undefined
  }

  has(capability: Capability): boolean {
    return this.told.capabilities.includes(capability)
  }

  /** A name that begins with the mark. */
  name(of: string): string {
    return `${this.mark}-${of}-${++this.#last}`
  }

  /** The ids of all that was or may have been written, by owner. */
  written(): ReadonlyMap<string, string | undefined> {
    return this.#written
  }

  call<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    const { memory, context } = this.#options
    this.asked = method
    return memory.call(method, params, context())
  }

  /** The code of the error that a call ends with; undefined where it has a result. */
  async codeOf<M extends Method>(method: M, params: ParamsOf<M>): Promise<number | undefined> {
    try {
      await this.call(method, params)
      return undefined
    } catch (thrown) {
      if (thrown instanceof A2mError) return thrown.code
      throw thrown
    }
  }

  /** Writes marked entries in one call; each has an id of its own unless it names one. */
  async write(step: string, samples: readonly Sample[], owner = this.owner): Promise<string[]> {
    const records = samples.map((sample) => this.entry(step, sample, owner))
    const { ids } = await this.call('memory/remember', { records, ...ownerParam(owner) })
    for (const id of ids) this.#written.set(id, owner)
    return ids
  }

  /** An entry as it will be sent; its id is remembered from here on. */
  entry(step: string, sample: Sample, owner = this.owner): Entry & { readonly id: string } {
    const id = sample.id ?? this.name(step)
    this.#written.set(id, owner)
    const metadata = JsonText.of({ ...sample.metadata, [MARK]: this.mark, [STEP]: step })
    return { ...sample, id, metadata, ...ownerParam(owner) }
  }

  /** Records that the upstream made of those that were written. */
  note(records: readonly MemoryRecord[]): void {
    for (const { id } of records) this.#written.set(id, this.owner)
  }

  /** Each with an instant of its own, in order. */
  async writeApart(step: string, samples: readonly Sample[]): Promise<string[]> {
    const ids: string[] = []
    for (const sample of samples) {
      ids.push(...(await this.write(step, [sample])))
      await pause(APART)
    }
    return ids
  }

  /** Params that select the records of one step, or of all. */
  of(step?: string, owner = this.owner) {
    const where = { [MARK]: this.mark, ...(step === undefined ? {} : { [STEP]: step }) }
    return { where, limit: this.limit(MOST), ...ownerParam(owner) }
  }

  /** No more than the upstream gives at once. */
  limit(wanted: number): number {
    return Math.min(wanted, this.told.limits?.max_recall_limit ?? wanted)
  }

  async find(step?: string, owner = this.owner): Promise<readonly MemoryRecord[]> {
    return (await this.call('memory/recall', this.of(step, owner))).records
  }

  async findOne(step: string, id: string | undefined): Promise<MemoryRecord | undefined> {
    return (await this.find(step)).find((record) => record.id === id)
  }

  /** Whether a record is one of this probe's. */
  isMine({ metadata }: MemoryRecord): boolean {
    const value = metadata?.value()
    return typeof value === 'object' && value !== null && this.mark === Reflect.get(value, MARK)
  }
}

/** As the params of a call and the fields of an entry name an owner. */
export function ownerParam(owner: string | undefined): { readonly owner?: string } {
  return owner === undefined ? {} : { owner }
}

/** What a thrown thing is to a report. */
export function toldError(thrown: unknown): string {
  if (thrown instanceof A2mError) return `error ${thrown.code}: ${thrown.message}`
  if (thrown instanceof Fault) return `no usable answer: ${thrown.message}`
  throw thrown
}
