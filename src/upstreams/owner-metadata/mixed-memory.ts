import type { Context, Memory } from '../../protocol/memory.js'
import type { Description } from '../../protocol/methods.js'

export type Reading = 'memory/recall' | 'memory/timeline'

/** Told what the upstream did that keeps owners no apart, and how often. */
export type Blame = (
  what: 'foreign_record' | 'ignored_where' | 'untrue_capability',
  count: number,
) => void

/** What an upstream is as far as keeping owners apart in it goes, and what it was found to do in this run. */
export class MixedMemory {
  readonly inner: Memory
  readonly blame: Blame
  readonly #deaf = new Set<Reading>()
  #told: Description | undefined
  /** Metadata of a record has come back as it was written; `dropped`: it has not. */
  metadata: 'untried' | 'kept' | 'dropped' = 'untried'

  constructor(inner: Memory, blame: Blame) {
    this.inner = inner
    this.blame = blame
  }

  learn(told: Description): void {
    this.#told = told
  }

  /** The most records that it gives at once; undefined where it says of none. */
  async most(context: Context): Promise<number | undefined> {
    return (await this.#description(context)).limits?.max_recall_limit
  }

  /** By what records are looked up: a timeline is no use of them, but only stores with sessions have to test `where` there (§3.5). */
  async lookUpBy(context: Context): Promise<Reading> {
    const { capabilities } = await this.#description(context)
    return capabilities.includes('sessions') ? 'memory/timeline' : 'memory/recall'
  }

  async #description(context: Context): Promise<Description> {
    this.#told ??= await this.inner.call('memory/describe', {}, context)
    return this.#told
  }

  /** Whether it was found to give what does not pass the `where` that it was asked by. */
  isDeaf(method: Reading): boolean {
    return this.#deaf.has(method)
  }

  noteDeaf(method: Reading): void {
    this.#deaf.add(method)
  }

  /** Owners can be kept apart: what it gives says whose it is, and all of it can be had where it cannot be asked for less. */
  get keepsApart(): boolean {
    const bounded = this.#told?.limits?.max_recall_limit !== undefined
    return this.metadata !== 'dropped' && !(bounded && this.#deaf.size > 0)
  }

  /** What it lacks for `owner: metadata`, for people. */
  flaws(): readonly string[] {
    const most = this.#told?.limits?.max_recall_limit
    const then =
      most === undefined
        ? 'everything is read for each call, and what is not the caller’s dropped'
        : `and gives ${most} records at most, so that an owner’s cannot be found among all: owners are not kept apart`
    return [
      ...[...this.#deaf].map((method) => `owner: metadata: it ignores where on ${method}; ${then}`),
      ...(this.metadata === 'dropped'
        ? ['owner: metadata: it does not keep metadata; owners are not kept apart']
        : []),
    ]
  }
}
