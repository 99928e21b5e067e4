import { expect } from 'vitest'
import { type Method, type ResultOf, SPECS } from '../../../src/protocol/methods.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import {
  type ConfigFile,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../gateway-under-test.js'
import { until } from '../waiting.js'
import { type Known, MemoryModel, told, toldBy, type Wanted } from './memory-model.js'
import { Random } from './random.js'

const store = (name: string) => ({ store: 'sqlite', path: `${name}.db` })

/** Four stores, one tier each; the working tier holds little, so that much moves. */
const CONFIG: ConfigFile = {
  auth: { keys: [keyEntry('all', '*')] },
  upstreams: {
    desk: store('desk'),
    diary: store('diary'),
    library: store('library'),
    manual: store('manual'),
  },
  tiers: {
    working: {
      kind: 'working',
      upstream: 'desk',
      capacity: 5,
      per_session: true,
      spill_to: 'episodic',
    },
    episodic: {
      kind: 'episodic',
      upstream: 'diary',
      capacity: 30,
      spill_to: 'semantic',
      promote_to: 'semantic',
      promote_after: 3,
    },
    semantic: { kind: 'semantic', upstream: 'library' },
    procedural: { kind: 'procedural', upstream: 'manual' },
  },
}
const TIERS = ['working', 'episodic', 'semantic', 'procedural']
const OWNERS = ['ada', 'bob']
const SESSIONS = ['tea', 'lunch', 'call']
const GROUPS = ['turn-1', 'turn-2', 'turn-3', 'turn-4']
const KEYS = ['user/city', 'user/name', 'wf/1', 'wf/1/step', 'wf/10']
const WORDS = ['river', 'engine', 'letter', 'garden', 'copper', 'winter', 'market', 'violin']

interface Event {
  readonly kind: string
  readonly [field: string]: unknown
}

/** A call whose outcome a crash left open. */
interface Cut {
  readonly owner: string
  readonly method: Method
  readonly params: Readonly<Record<string, unknown>>
  /** Undefined where the gateway died before it answered. */
  readonly result: unknown
}

/** Random operations on a gateway and on a model, which must agree after each. */
export class Walk {
  readonly #random: Random
  readonly #folder: string
  readonly #model = new MemoryModel('working')
  readonly #cursors = new Map<string, string>()
  readonly #trail: string[] = []
  readonly #owed: { readonly owner: string; readonly kind: string; readonly ids: string }[] = []
  #gateway: Gateway
  #count = 0

  static async begin(seed: number, folder: string): Promise<Walk> {
    const walk = new Walk(seed, folder, await startGateway(CONFIG, { cwd: folder }))
    for (const owner of OWNERS) await walk.#events(owner)
    return walk
  }

  private constructor(seed: number, folder: string, gateway: Gateway) {
    this.#random = new Random(seed)
    this.#folder = folder
    this.#gateway = gateway
  }

  /** One operation, and a look at everything of its owner. */
  async step(): Promise<void> {
    const owner = this.#random.pick(OWNERS)
    const operation = this.#random.pick(OPERATIONS)
    try {
      await this.#operations[operation](owner)
      await this.#agree(owner)
      if (++this.#count % 25 === 0) for (const each of OWNERS) await this.#agreeOnSums(each)
    } catch (cause) {
      throw new Error(`at operation ${this.#count}, after\n${this.#trail.join('\n')}`, { cause })
    }
  }

  stop(): Promise<number | null> {
    return this.#gateway.stop()
  }

  readonly #operations: Readonly<Record<Operation, (owner: string) => Promise<void>>> = {
    remember: (owner) => this.#remember(owner),
    rewrite: (owner) => this.#rewrite(owner),
    recall: (owner) => this.#recall(owner),
    promote: (owner) => this.#promote(owner),
    consolidate: (owner) => this.#consolidate(owner),
    close: (owner) => this.#close(owner),
    forget: (owner) => this.#forget(owner),
    fetch: (owner) => this.#fetch(owner),
    reinforce: (owner) => this.#reinforce(owner),
    restart: () => this.#restart(() => this.#gateway.stop()),
    crash: (owner) => this.#crash(owner),
  }

  async #call<M extends Method>(method: M, params: object): Promise<ResultOf<M>> {
    const result = await this.#tried(method, params)
    if (SPECS[method].kind === 'write') this.#note(method, params, result)
    return result
  }

  /** Keeps the last writes in mind, for whoever has to find out what went wrong. */
  #note(...what: readonly unknown[]): void {
    this.#trail.push(what.map((one) => JSON.stringify(one)).join(' '))
    if (this.#trail.length > 40) this.#trail.shift()
  }

  #tried<M extends Method>(method: M, params: object): Promise<ResultOf<M>> {
    return this.#gateway.call(method, params, { key: keyOf('all') })
  }

  // What is wanted of the gateway.

  #entry(): Wanted {
    const random = this.#random
    const name = `n${this.#count}x${random.below(1e9)}`
    return {
      content: `${random.pick(WORDS)} ${random.pick(WORDS)} ${name}`,
      ...(random.chance(0.5) ? { tier: random.pick(TIERS) } : {}),
      ...(random.chance(0.5) ? { session: random.pick(SESSIONS) } : {}),
      ...(random.chance(0.3) ? { group: random.pick(GROUPS) } : {}),
      ...(random.chance(0.3) ? { id: `own-${name}` } : {}),
      ...(random.chance(0.3)
        ? { metadata: { n: random.below(9), deep: { list: [1, null] } } }
        : {}),
    }
  }

  /** Keys and groups are not mixed, since a move of one would be a move of the other. */
  #keyed(): Wanted {
    const { group: _, id: __, ...entry } = this.#entry()
    return { ...entry, key: this.#random.pick(KEYS) }
  }

  async #remember(owner: string): Promise<void> {
    const entries = Array.from({ length: 1 + this.#random.below(3) }, () => this.#entry())
    const known = this.#random.some(this.#model.of(owner), 1)
    const again = this.#random.chance(0.2) ? known.map(({ id }) => ({ content: 'again', id })) : []
    await this.#write(owner, [...entries, ...again])
  }

  async #rewrite(owner: string): Promise<void> {
    const count = 1 + this.#random.below(2)
    const entries = Array.from({ length: count }, () => this.#keyed())
    await this.#write(owner, this.#random.chance(0.3) ? [...entries, this.#entry()] : entries)
  }

  async #write(owner: string, records: readonly Wanted[]): Promise<void> {
    const { ids } = await this.#call('memory/remember', { records, owner })
    const written = this.#follow(owner, records, ids)
    const events = await this.#events(owner)
    expect(events).toMatchObject(written.map(() => ({ kind: 'written' })))
    expect(new Set(events.map(({ id }) => id))).toEqual(new Set(written))
  }

  /** Follows a write in the model; tells the records that were written, each once: one event is told of each. */
  #follow(owner: string, records: readonly Wanted[], ids: readonly string[]): string[] {
    expect(ids).toHaveLength(records.length)
    const written = records.flatMap((wanted, index) => {
      const id = ids[index] ?? ''
      if (wanted.id !== undefined) expect(id).toBe(wanted.id)
      if (wanted.id !== undefined && this.#model.get(owner, wanted.id)) return []
      const holder = wanted.key === undefined ? undefined : this.#model.withKey(owner, wanted.key)
      if (holder === undefined) this.#model.add(owner, id, wanted)
      else {
        expect(id).toBe(holder.id)
        this.#model.replace(holder, wanted)
      }
      return [id]
    })
    return [...new Set(written)]
  }

  async #recall(owner: string): Promise<void> {
    const [known] = this.#random.some(this.#model.of(owner), 1)
    if (known === undefined) return
    const query = known.content.split(' ').at(-1) ?? ''
    const { records } = await this.#call('memory/recall', { query, owner })
    expect(records.map(toldBy)).toEqual([told(known)])
  }

  async #promote(owner: string): Promise<void> {
    const chosen = this.#random.some(this.#model.of(owner), 3)
    const tier = this.#random.pick(TIERS)
    const ids = [...chosen.map(({ id }) => id), 'nobody']
    const { promoted } = await this.#call('memory/promote', { ids, tier, owner })
    const moved = this.#model.whole(chosen).filter((record) => record.tier !== tier)
    for (const record of moved) record.tier = tier
    expect(promoted).toBe(moved.length)
    const events = await this.#events(owner)
    if (moved.length === 0) return expect(events).toEqual([])
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ kind: 'promoted', tier })
    expect(new Set(events[0]?.['ids'] as string[])).toEqual(new Set(moved.map(({ id }) => id)))
  }

  async #consolidate(owner: string): Promise<void> {
    const before = this.#placesOf(owner)
    const { moved, promoted, dropped } = await this.#call('memory/consolidate', { owner })
    expect(dropped).toBe(0)
    const changed = await this.#adoptTiers(owner, before)
    expect(moved + promoted).toBeGreaterThanOrEqual(changed.length)
    expect(moved + promoted > 0).toBe(changed.length > 0)
    this.#withinCapacity(owner)
    const events = await this.#events(owner)
    expect(events).toMatchObject([{ kind: 'consolidated', moved, promoted, dropped }])
  }

  async #close(owner: string): Promise<void> {
    const session = this.#random.pick(SESSIONS)
    const before = this.#placesOf(owner)
    const members = this.#model.of(owner).filter((record) => record.session === session)
    const leaving = members.filter(({ tier }) => tier === 'working')
    const going = this.#model.whole(leaving).filter(({ tier }) => tier === 'working')
    const result = await this.#call('memory/session/close', { session, owner })
    expect(result).toMatchObject({ closed: session, flushed: going.length, dropped: 0 })
    await this.#adoptTiers(owner, before)
    for (const record of going) expect(record.tier).not.toBe('working')
    const kinds = (await this.#events(owner)).map(({ kind }) => kind)
    expect(kinds).toEqual(members.length > 0 ? ['consolidated', 'session_closed'] : [])
  }

  async #forget(owner: string): Promise<void> {
    const all = this.#model.of(owner)
    const some = this.#random.some(all, 2)
    const session = this.#random.pick(SESSIONS)
    const prefix = this.#random.pick(['wf/1', 'wf/1/', 'user', 'wf/10'])
    const path = prefix.replace(/\/$/, '')
    const [selectors, gone] = this.#random.pick<readonly [object, readonly Known[]]>([
      [{ ids: some.map(({ id }) => id).concat('nobody') }, some],
      [
        { where: { session }, tier: 'episodic' },
        all.filter((r) => r.session === session && r.tier === 'episodic'),
      ],
      [
        { key_prefix: prefix },
        all.filter(({ key }) => key === path || key?.startsWith(`${path}/`)),
      ],
    ])
    const { forgotten } = await this.#call('memory/forget', { ...selectors, owner })
    expect(forgotten).toBe(gone.length)
    for (const record of gone) this.#model.remove(record)
    const events = await this.#events(owner)
    expect(events).toHaveLength(gone.length > 0 ? 1 : 0)
    if (gone.length > 0) {
      expect(events[0]).toMatchObject({ kind: 'forgotten', count: gone.length })
      expect(new Set(events[0]?.['ids'] as string[])).toEqual(new Set(gone.map(({ id }) => id)))
    }
  }

  async #fetch(owner: string): Promise<void> {
    const key = this.#random.pick(KEYS)
    const { record } = await this.#call('memory/fetch', { key, owner })
    const known = this.#model.withKey(owner, key)
    expect(record && toldBy(record)).toEqual(known === undefined ? null : told(known))
  }

  async #reinforce(owner: string): Promise<void> {
    const chosen = this.#random.some(this.#model.of(owner), 3)
    const ids = chosen.flatMap(({ id }) => [id, id]).concat('nobody')
    const { reinforced } = await this.#call('memory/reinforce', { ids, amount: 0.5, owner })
    expect(reinforced).toBe(chosen.length)
    for (const record of chosen) record.salience += 0.5
  }

  async #restart(end: () => Promise<unknown>): Promise<void> {
    await end()
    this.#gateway = await startGateway(CONFIG, { cwd: this.#folder })
  }

  // A call in the middle of which the gateway dies.

  async #crash(owner: string): Promise<void> {
    const { method, params } = this.#deadly(owner)
    const answered = this.#call(method, { ...params, owner }).catch(() => undefined)
    await Promise.race([answered, this.#instant()])
    await this.#restart(() => this.#gateway.kill())
    const result = await answered
    this.#note('killed in', method, params, result ?? 'unanswered')
    await this.#reconcile({ owner, method, params, result })
  }

  /** Some time within which a call may be anywhere; a dying process is the event that is waited for. */
  #instant(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#random.below(12)))
  }

  #deadly(owner: string): { readonly method: Method; readonly params: Record<string, unknown> } {
    const some = this.#random.some(this.#model.of(owner), 6)
    const ids = some.map(({ id }) => id)
    return this.#random.pick([
      {
        method: 'memory/remember',
        params: { records: [this.#entry(), this.#entry(), this.#entry()] },
      },
      { method: 'memory/remember', params: { records: [this.#keyed()] } },
      { method: 'memory/promote', params: { ids, tier: this.#random.pick(TIERS) } },
      { method: 'memory/consolidate', params: {} },
      { method: 'memory/session/close', params: { session: this.#random.pick(SESSIONS) } },
      { method: 'memory/forget', params: { ids: [...ids, 'nobody'] } },
    ])
  }

  /** Brings the model to what is there, as far as the call may have come, and holds the events to the same. */
  async #reconcile({ owner, method, params, result }: Cut): Promise<void> {
    const before = this.#placesOf(owner)
    await until(async () => this.#splitGroups(before, await this.#timeline(owner)).length === 0)
    const records = await this.#timeline(owner)
    const there = new Map(records.map((record) => [record.id, record]))
    const written = this.#adoptWrites(owner, params['records'] as Wanted[] | undefined, records)
    const gone = this.#model.of(owner).filter(({ id }) => !there.has(id))
    if (method !== 'memory/forget') expect(gone).toEqual([])
    for (const record of gone) this.#model.remove(record)
    const changed = await this.#adoptTiers(owner, before)
    const events = await this.#events(owner)
    const expected = {
      written,
      forgotten: gone.map(({ id }) => id),
      promoted: method === 'memory/promote' ? changed.map(({ id }) => id) : [],
    }
    for (const [kind, ids] of Object.entries(expected)) this.#expectOrOwe(owner, events, kind, ids)
    expect(events.filter(({ kind }) => kind === 'consolidated').length).toBeLessThanOrEqual(1)
    if (result !== undefined && method === 'memory/remember') {
      expect(written.length).toBeGreaterThan(0)
    }
  }

  /** What a crash left untold and may still come through is told when that is certain. */
  #expectOrOwe(
    owner: string,
    events: readonly Event[],
    kind: string,
    ids: readonly string[],
  ): void {
    const told = events.filter((event) => event.kind === kind)
    if (told.length === 0 && ids.length > 0) {
      this.#owed.push({ owner, kind, ids: [...ids].sort().join() })
      this.#note('owed', this.#owed)
      return
    }
    expect([kind, new Set(told.flatMap(idsIn))]).toEqual([kind, new Set(ids)])
    if (kind === 'written') expect(told).toHaveLength(ids.length)
  }

  /** A batch is there whole or not at all; a key holds the old or the new. */
  #adoptWrites(
    owner: string,
    entries: readonly Wanted[] | undefined,
    records: readonly MemoryRecord[],
  ): string[] {
    if (entries === undefined) return []
    const found = entries.map(({ content }) => records.find((record) => record.content === content))
    const ids = found.flatMap((record) => record?.id ?? [])
    expect([0, entries.length]).toContain(ids.length)
    const written = ids.length === 0 ? [] : this.#follow(owner, entries, ids)
    for (const record of found) {
      const known = record && this.#model.get(owner, record.id)
      if (known && record?.tier !== undefined && known.key !== undefined) known.tier = record.tier
    }
    return written
  }

  // What must be so.

  async #timeline(owner: string): Promise<readonly MemoryRecord[]> {
    const { records } = await this.#call('memory/timeline', { limit: 0, owner, partial: false })
    return records
  }

  /** Same ids, contents, tiers, sessions, groups, keys, revisions and salience, in the order in which they came to be. */
  async #agree(owner: string): Promise<void> {
    const records = await this.#timeline(owner)
    const byId = (a: object, b: object) => (idOf(a) < idOf(b) ? -1 : 1)
    expect(records.map(toldBy).sort(byId)).toEqual(this.#model.of(owner).map(told).sort(byId))
    const instants = records.map(({ created_at }) => created_at)
    expect(instants).toEqual(instants.toSorted())
    const wanted = records.map((record) => {
      const known = this.#model.get(owner, record.id)
      if (known === undefined) return record
      known.created ??= record.created_at
      return { ...record, created_at: known.created, salience: known.salience }
    })
    expect(records).toEqual(wanted)
  }

  async #agreeOnSums(owner: string): Promise<void> {
    const all = this.#model.of(owner)
    const count = (test: (known: Known) => boolean) => all.filter(test).length
    const { tiers = [] } = await this.#call('memory/describe', { owner })
    expect(tiers.map(({ name, count: told }) => [name, told])).toEqual(
      TIERS.map((name) => [name, count(({ tier }) => tier === name)]),
    )
    const { sessions } = await this.#call('memory/session/list', { owner })
    const listed = sessions.map(({ session, records }) => [session, records])
    const expected = SESSIONS.map((name) => [name, count(({ session }) => session === name)])
    expect(new Set(listed.map(String))).toEqual(
      new Set(expected.filter(([, records]) => records !== 0).map(String)),
    )
    for (const key of KEYS) {
      const { record } = await this.#call('memory/fetch', { key, owner })
      expect([key, record?.id]).toEqual([key, this.#model.withKey(owner, key)?.id])
    }
  }

  /** Everything that happened to an owner since the last look, each event once. */
  async #events(owner: string): Promise<Event[]> {
    const events: Event[] = []
    for (;;) {
      const cursor = this.#cursors.get(owner)
      const page = await this.#call('memory/events', { owner, limit: 2, ...(cursor && { cursor }) })
      expect(page.reset ?? false).toBe(false)
      this.#cursors.set(owner, page.cursor)
      events.push(...page.events)
      if (!page.more) return events.filter((event) => !this.#wasOwed(owner, event))
    }
  }

  #wasOwed(owner: string, event: Event): boolean {
    const ids = idsIn(event).sort().join()
    const index = this.#owed.findIndex(
      (owed) => owed.owner === owner && owed.kind === event.kind && owed.ids === ids,
    )
    if (index >= 0) this.#owed.splice(index, 1)
    return index >= 0
  }

  /** Waits for events that crashes have left to be told. */
  async settled(): Promise<void> {
    for (let looks = 0; this.#owed.length > 0 && looks < 90; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 1000))
      for (const owner of OWNERS) expect(await this.#events(owner)).toEqual([])
    }
    expect(this.#owed).toEqual([])
  }

  #placesOf(owner: string): ReadonlyMap<string, string> {
    return new Map(this.#model.of(owner).map(({ id, tier }) => [id, tier]))
  }

  /** Takes over where records are now; nothing else of them may differ. Tells those that have moved. */
  async #adoptTiers(owner: string, before: ReadonlyMap<string, string>): Promise<Known[]> {
    for (const { id, tier } of await this.#timeline(owner)) {
      const known = this.#model.get(owner, id)
      if (known !== undefined && tier !== undefined) known.tier = tier
    }
    const moved = this.#model.of(owner).filter(({ id, tier }) => (before.get(id) ?? tier) !== tier)
    for (const { tier, id } of moved) {
      if (before.get(id) !== 'procedural') expect(TIERS).toContain(tier)
    }
    return moved
  }

  /**
   * Groups of which some records have moved and others have not come to the same tier (§3.4); recovery finishes such a move as soon
   * as its upstreams can be used.
   */
  #splitGroups(before: ReadonlyMap<string, string>, records: readonly MemoryRecord[]): string[] {
    const old = records.filter(({ id, group }) => group !== undefined && before.has(id))
    const moved = old.filter(({ id, tier }) => before.get(id) !== tier)
    return [...new Set(moved.map(({ group = '' }) => group))].filter((name) => {
      const tiers = old.filter(({ group }) => group === name).map(({ tier }) => tier)
      return new Set(tiers).size > 1
    })
  }

  /** No session has more in the working tier than its capacity, a group that is larger alone apart. */
  #withinCapacity(owner: string): void {
    const working = this.#model.of(owner).filter(({ tier }) => tier === 'working')
    for (const session of [...SESSIONS, undefined]) {
      const held = working.filter((record) => record.session === session)
      expect(held.length).toBeLessThanOrEqual(5)
    }
  }
}

function idsIn({ id, ids }: Event): string[] {
  return Array.isArray(ids) ? ids.map(String) : id === undefined ? [] : [String(id)]
}

function idOf(record: object): string {
  return 'id' in record ? String(record.id) : ''
}

const OFTEN = {
  remember: 20,
  rewrite: 14,
  recall: 12,
  promote: 10,
  consolidate: 8,
  close: 5,
  forget: 8,
  fetch: 6,
  reinforce: 6,
  restart: 0.4,
  crash: 1.6,
} as const
type Operation = keyof typeof OFTEN
/** Each as often as it is wanted. */
const OPERATIONS = Object.entries(OFTEN).flatMap(([operation, weight]) =>
  Array.from({ length: weight * 5 }, () => operation as Operation),
)
