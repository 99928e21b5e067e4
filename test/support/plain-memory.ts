import { A2mError, Fault, invalidParams } from '../../src/protocol/errors.js'
import { inKeyRange, keyRange } from '../../src/protocol/key-prefix.js'
import { matches } from '../../src/protocol/matches.js'
import type { Memory } from '../../src/protocol/memory.js'
import type { Limits, Method, ParamsOf, ResultOf } from '../../src/protocol/methods.js'
import type { Entry, MemoryRecord } from '../../src/protocol/records.js'
import { PROTOCOL } from '../../src/protocol/versions.js'

export interface PlainOptions {
  readonly capabilities?: readonly string[]
  readonly tiers?: readonly string[]
  readonly readOnly?: boolean
  readonly limits?: Limits
  /** What it gets wrong on purpose. */
  readonly faults?: readonly (
    | 'ignores-owner'
    | 'ignores-where'
    | 'ignores-where-on-timeline'
    | 'ignores-limit'
    | 'prefix-by-characters'
    | 'keys-of-all-owners'
  )[]
  /** Fields of records that it does not keep, whatever it declares. */
  readonly drops?: readonly string[]
  readonly protocol?: string
  readonly now?: () => number
}

/**
 * A small store as others might write one from the specification, without our extension: one list of records, ids shared by
 * all owners, words as search; keys where it declares them. It can be told to misbehave.
 */
export class PlainMemory implements Memory {
  readonly records: MemoryRecord[] = []
  /** Every call that it was asked, in order. */
  readonly asked: { readonly method: Method; readonly params: unknown }[] = []
  readonly #options: PlainOptions

  constructor(options: PlainOptions = {}) {
    this.#options = options
  }

  async call<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    this.asked.push({ method, params: structuredClone(JSON.parse(JSON.stringify(params))) })
    const handler = this.#handlers[method]
    if (handler === undefined) throw new A2mError('CAPABILITY_NOT_SUPPORTED', 'not here')
    return handler(params)
  }

  async close(): Promise<void> {}

  readonly #handlers: { readonly [M in Method]?: (params: ParamsOf<M>) => ResultOf<M> } = {
    'memory/describe': () => this.#describe(),
    'memory/remember': (params) => this.#remember(params),
    'memory/recall': (params) => ({ records: this.#recall(params) }),
    'memory/timeline': (params) => ({
      records: this.#timeline(params).map((record) => ({ ...record })),
    }),
    'memory/forget': (params) => ({ forgotten: this.#forget(params) }),
    'memory/promote': (params) => ({ promoted: this.#promote(params) }),
    'memory/fetch': ({ key, owner }) => {
      if (!this.#keeps('keys')) throw new A2mError('CAPABILITY_NOT_SUPPORTED', 'no keys here')
      return { record: this.#at(key, owner) ?? null }
    },
  }

  #keeps(capability: string): boolean {
    return this.#options.capabilities?.includes(capability) ?? false
  }

  #at(key: string, owner: string | undefined): MemoryRecord | undefined {
    const mixed = this.#options.faults?.includes('keys-of-all-owners')
    return this.records.find((record) => record.key === key && (mixed || record.owner === owner))
  }

  #describe(): ResultOf<'memory/describe'> {
    const { capabilities = ['core'], tiers, limits, protocol = PROTOCOL } = this.#options
    const methods = ['describe', 'remember', 'recall', 'timeline', 'forget'].map(
      (m) => `memory/${m}`,
    )
    const counted = tiers?.map((name) => ({
      name,
      count: this.records.filter((r) => r.tier === name).length,
    }))
    return {
      protocol,
      name: 'plain',
      capabilities: [...capabilities],
      methods,
      ...(limits === undefined ? {} : { limits }),
      ...(counted === undefined ? {} : { tiers: counted }),
    }
  }

  #remember({ records }: ParamsOf<'memory/remember'>): ResultOf<'memory/remember'> {
    if (this.#options.readOnly) throw new A2mError('READ_ONLY', 'read-only')
    if (records.length === 0) throw invalidParams('records')
    return { ids: records.map((entry) => this.#keep(entry)) }
  }

  #keep(told: Entry): string {
    const { key, ...entry } = this.#without(told)
    const { tiers, now = Date.now } = this.#options
    const id = entry.id ?? `plain-${this.records.length}`
    if (this.records.some((record) => record.id === id)) return id
    const keyed = key !== undefined && this.#keeps('keys')
    const there = keyed ? this.#at(key, entry.owner) : undefined
    if (there !== undefined) return this.#rewrite(there, entry)
    const tier = entry.tier ?? tiers?.[0]
    const created_at = new Date(now()).toISOString()
    const where = tier === undefined ? {} : { tier }
    const counted = keyed ? { key, revision: 0 } : {}
    this.records.push({ ...entry, id, created_at, ...where, ...counted })
    return id
  }

  /** A liar drops what it declares to keep. */
  #without(entry: Entry): Entry {
    const dropped = this.#options.drops ?? []
    const kept = Object.entries(entry).filter(([name]) => !dropped.includes(name))
    return { ...Object.fromEntries(kept), content: entry.content }
  }

  #rewrite(there: MemoryRecord, { id: _, ...entry }: Entry): string {
    const { id, created_at, key, revision = 0, owner, tier } = there
    const kept = { id, created_at, revision: revision + 1 }
    const index = this.records.indexOf(there)
    this.records[index] = {
      ...(tier && { tier }),
      ...entry,
      ...kept,
      ...(owner && { owner }),
      ...(key && { key }),
    }
    return id
  }

  #recall(params: ParamsOf<'memory/recall'>): MemoryRecord[] {
    const words = (params.query ?? '').toLowerCase().split(/\W+/).filter(Boolean)
    const hits = (content: string) =>
      words.filter((word) => content.toLowerCase().includes(word)).length
    const scored = this.#select(params)
      .map((record) => ({
        ...record,
        score: words.length === 0 ? 0.5 : hits(record.content) / words.length,
      }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
    return this.#cut(scored, params.limit ?? 8)
  }

  #timeline(params: ParamsOf<'memory/timeline'>): MemoryRecord[] {
    const deaf = this.#options.faults?.includes('ignores-where-on-timeline')
    const chosen = this.#select(deaf ? { ...params, where: undefined } : params)
    const ordered = chosen.toSorted((a, b) => a.created_at.localeCompare(b.created_at))
    const limit = params.limit ?? 0
    return limit === 0 ? ordered : ordered.slice(-limit)
  }

  #forget(params: ParamsOf<'memory/forget'>): number {
    if (this.#options.readOnly) throw new A2mError('READ_ONLY', 'read-only')
    const gone = this.#select(params).filter(({ id }) => params.ids?.includes(id) ?? true)
    for (const record of gone) this.records.splice(this.records.indexOf(record), 1)
    return gone.length
  }

  #promote({ ids, tier }: ParamsOf<'memory/promote'>): number {
    const moving = this.records.filter((record) => ids.includes(record.id) && record.tier !== tier)
    for (const record of moving) record.tier = tier
    return moving.length
  }

  #covers(prefix: string, key: string | undefined): boolean {
    if (this.#options.faults?.includes('prefix-by-characters'))
      return key?.startsWith(prefix) ?? false
    return inKeyRange(key, keyRange(prefix))
  }

  #select(
    params: Pick<ParamsOf<'memory/timeline'>, 'tier' | 'where' | 'owner' | 'key_prefix'>,
  ): MemoryRecord[] {
    const { key_prefix } = params
    const blind = this.#options.faults?.includes('ignores-owner')
    const deaf = this.#options.faults?.includes('ignores-where')
    return this.records.filter(
      (record) =>
        (params.tier === undefined || record.tier === params.tier) &&
        (params.owner === undefined || blind || record.owner === params.owner) &&
        (!key_prefix || !this.#keeps('keys') || this.#covers(key_prefix, record.key)) &&
        (deaf || matches(record, params.where ?? {})),
    )
  }

  #cut<T>(records: readonly T[], limit: number): T[] {
    const most = this.#options.limits?.max_recall_limit
    if (most !== undefined && limit > most) throw invalidParams('limit')
    return this.#options.faults?.includes('ignores-limit') || limit === 0
      ? [...records]
      : records.slice(0, limit)
  }
}

/** A memory that stands between and can be told to fail: the kind of fault an upstream has. */
export class Faulty implements Memory {
  /** Decides for each call: undefined lets it through, an Error is thrown, `hang` waits for the deadline. */
  fault: (method: Method) => Error | 'hang' | undefined = () => undefined
  readonly #inner: Memory

  constructor(inner: Memory) {
    this.#inner = inner
  }

  async call<M extends Method>(
    method: M,
    params: ParamsOf<M>,
    context: Parameters<Memory['call']>[2],
  ): Promise<ResultOf<M>> {
    const fault = this.fault(method)
    if (fault instanceof Error) throw fault
    if (fault === 'hang') return hang(context)
    return this.#inner.call(method, params, context)
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

function hang({ deadline, cancellation }: Parameters<Memory['call']>[2]): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(
      () => reject(new Fault('timeout', 'too slow')),
      deadline - performance.now(),
    )
    cancellation.subscribe(() => {
      clearTimeout(timer)
      reject(new Fault('cancelled', 'the caller left'))
    })
  })
}
