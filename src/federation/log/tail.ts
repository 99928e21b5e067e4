import { A2mError, CODES, messageOf } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ResultOf } from '../../protocol/methods.js'
import { ask } from '../fan-out.js'
import type { Source } from '../layout.js'
import { holder, type Located, locateAt } from '../locate.js'
import type { Parts } from '../parts.js'
import type { WrittenRecord } from './chronicle.js'
import { hasOthersEvents, isTailed } from './echoes.js'

export interface TailOptions {
  readonly parts: Parts
  /** Ms between two readings of one upstream. */
  readonly interval: number
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number
  /** The context of one reading. */
  readonly context: () => Context
  /** Told of what keeps an upstream from being read, or has left a gap; once until it changes. */
  readonly problem: (upstream: string, what: string) => void
}

/** A `written` event of an upstream, in its own terms. */
interface Written {
  readonly id: string
  readonly key: string | undefined
  readonly revision: number | undefined
  readonly at: string
}

interface Reading {
  readonly more?: boolean
  readonly problem?: string
}

type Page = ResultOf<'memory/events'>

const EVENTS_A_PAGE = 100
/** Pages in one reading; an upstream that always has more waits for the next. */
const MOST_PAGES = 50
/** The latest events of an upstream, by which one that repeats itself is told. */
const REMEMBERED = 10_000
/** How long after a write its own event may still come by, in ms. */
const ECHO_PATIENCE = 300_000

/**
 * Tells in our log what others write at upstreams that declare events, by polling them (§4.12). Other kinds of events carry
 * no owner, so that nobody could be told of them, and are left out.
 */
export class Tail {
  readonly #options: TailOptions
  readonly #reading = new Map<string, Promise<void>>()
  readonly #seen = new Map<string, Set<string>>()
  readonly #problems = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: TailOptions) {
    this.#options = options
  }

  start(): void {
    this.#turn()
  }

  /** Resolves when no reading is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await Promise.all(this.#reading.values())
  }

  /** Each upstream by itself: a slow one keeps none waiting. */
  #turn(): void {
    const { parts, interval, random } = this.#options
    for (const source of parts.layout().sources.filter(hasOthersEvents)) {
      if (isTailed(source)) this.#begin(source)
      else
        this.#note(
          source.name,
          'its events are everybody’s, and it is asked for one owner at a time',
        )
    }
    this.#timer = setTimeout(() => this.#turn(), interval * (0.8 + 0.4 * random())).unref()
  }

  #begin(source: Source): void {
    const { name } = source
    if (this.#reading.has(name)) return
    const reading = this.#read(source)
      .then((problem) => this.#note(name, problem))
      .catch((thrown) => this.#note(name, String(thrown)))
      .finally(() => this.#reading.delete(name))
    this.#reading.set(name, reading)
  }

  #note(upstream: string, problem: string | undefined): void {
    if (problem === this.#problems.get(upstream)) return
    if (problem === undefined) this.#problems.delete(upstream)
    else {
      this.#problems.set(upstream, problem)
      this.#options.problem(upstream, problem)
    }
  }

  /** Reads on until there is no more; returns what was wrong. */
  async #read(source: Source): Promise<string | undefined> {
    const { clock, book } = this.#options.parts
    const began = clock.now()
    let problem: string | undefined
    for (let page = 0; page < MOST_PAGES && !this.#stopped; page++) {
      const read = await this.#readPage(source)
      problem = read.problem ?? problem
      if (read.more) continue
      if (read.more === false) book.tails.expire(source.name, began - ECHO_PATIENCE)
      break
    }
    return problem
  }

  /** `more` is undefined where reading has to begin at the same place again. */
  async #readPage(source: Source): Promise<Reading> {
    const cursor = this.#options.parts.book.tails.cursor(source.name)
    const answer = await this.#poll(source, cursor)
    if (typeof answer === 'string') return { problem: answer }
    if (cursor !== undefined && answer.cursor === cursor && answer.events.length > 0) {
      return { problem: 'it gives events and no new cursor; they are not told' }
    }
    if (cursor === undefined) this.#pass(source, answer.cursor)
    else if (!(await this.#tell(source, answer))) {
      return { problem: 'records could not be read; tried again' }
    }
    const more = cursor !== undefined && answer.more === true
    return answer.reset
      ? { more, problem: 'it has dropped events before they were read; they are not told' }
      : { more }
  }

  /** One page, or why there is none. A cursor that is refused is given up: reading begins anew from then on. */
  async #poll(source: Source, cursor: string | undefined): Promise<Page | string> {
    const { parts, context } = this.#options
    const params = { cursor, kinds: ['written'], limit: EVENTS_A_PAGE }
    const asking = { source, params, owner: undefined }
    const { result, thrown } = await ask('memory/events', asking, context(), parts.clock)
    if (result !== undefined) return result
    const refused = thrown instanceof A2mError && thrown.code === CODES.INVALID_PARAMS
    if (refused && cursor !== undefined) {
      parts.book.tails.forget(source.name)
      return 'it refuses its own cursor; events are read from now on'
    }
    return messageOf(thrown)
  }

  #pass({ name }: Source, cursor: string): void {
    this.#options.parts.book.tails.pass(name, { cursor, echoes: [], changes: [] })
  }

  /** False where the records of the events cannot be read now: then nothing is told, and nothing passed. */
  async #tell(source: Source, { events, cursor }: Page): Promise<boolean> {
    const { parts, context } = this.#options
    const fresh = this.#unseen(source.name, events.flatMap(written))
    const { names, others } = parts.echoes?.part(source.name, fresh) ?? { names: [], others: fresh }
    const ids = others.map(({ id }) => source.translation.shownId(id))
    const { located, silent } = await locateAt(parts, source, { ids, owner: undefined }, context())
    if (silent.length > 0) return false
    const records = others.flatMap((event) => recordOf(event, located) ?? [])
    const changes = records.length > 0 ? [{ kind: 'written', records } as const] : []
    parts.book.tails.pass(source.name, { cursor, echoes: names, changes })
    this.#remember(source.name, fresh)
    if (changes.length > 0) parts.told()
    return true
  }

  #unseen(upstream: string, events: readonly Written[]): Written[] {
    const seen = new Set(this.#seen.get(upstream))
    return events.filter((event) => {
      const fresh = !seen.has(nameOf(event))
      seen.add(nameOf(event))
      return fresh
    })
  }

  #remember(upstream: string, events: readonly Written[]): void {
    const seen = this.#seen.get(upstream) ?? new Set<string>()
    this.#seen.set(upstream, seen)
    for (const event of events) seen.add(nameOf(event))
    for (const oldest of seen) {
      if (seen.size <= REMEMBERED) break
      seen.delete(oldest)
    }
  }
}

function nameOf({ id, revision, at }: Written): string {
  return `${at} ${revision ?? ''} ${id}`
}

function written(event: Page['events'][number]): Written[] {
  const { kind, at, id, key, revision } = event
  if (kind !== 'written' || typeof id !== 'string' || id === '') return []
  return [
    {
      id,
      at,
      key: typeof key === 'string' ? key : undefined,
      revision: typeof revision === 'number' && Number.isInteger(revision) ? revision : undefined,
    },
  ]
}

/** Where several owners have a record of that id, it is the one with that key, and else the newest. */
function recordOf(
  { id, key, revision }: Written,
  located: readonly Located[],
): WrittenRecord | undefined {
  const here = located.filter(({ hereId }) => hereId === id)
  const same = here.filter(({ record }) => record.key === key)
  const [found] = (same.length > 0 ? same : here).toSorted((a, b) => (a.at < b.at ? 1 : -1))
  if (found === undefined) return undefined
  const { record } = found
  const { tier, session } = record
  return {
    ...{ id: record.id, owner: holder(record), tier, session, key: record.key },
    revision: revision ?? record.revision,
    upstream: found.source.name,
  }
}
