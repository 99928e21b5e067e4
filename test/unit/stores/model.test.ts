import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXTENSION, type ExtensionParams } from '../../../src/protocol/extension.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { idsOf, OpenStore } from './open.js'

const TIERS = [
  { name: 'working', kind: 'working', capacity: 2, spill_to: 'episodic' },
  ...['episodic', 'semantic'],
]
const TIER_NAMES = ['working', 'episodic', 'semantic']
const CAPACITY = 2

interface Held {
  readonly id: string
  readonly owner: string | null
  readonly key: string | undefined
  group: string | undefined
  session: string | undefined
  content: string
  tier: string
  revision?: number
}

/** What a caller writes; without a tier it goes to the first, or stays where its key is. */
type Written = Omit<Held, 'tier'> & { readonly tier: string | undefined }

type Owner = string | null | undefined

/** What a store should do, as plainly as it can be said: one list in the order of writing. */
class Model {
  held: Held[] = []

  remember(entry: Written): void {
    const own = this.of(entry.owner)
    if (own.some(({ id }) => id === entry.id)) return
    const there = entry.key === undefined ? undefined : own.find(({ key }) => key === entry.key)
    if (there === undefined) {
      const revision = entry.key === undefined ? {} : { revision: 0 }
      this.held.push({ ...entry, tier: entry.tier ?? 'working', ...revision })
      return
    }
    const { group, session, content } = entry
    Object.assign(there, { group, session, content, revision: (there.revision ?? 0) + 1 })
    if (entry.tier !== undefined && entry.tier !== there.tier) this.move([there], entry.tier)
  }

  /** How many left the working tier. */
  close(owner: Owner, session: string): number {
    const working = this.of(owner).filter(({ tier }) => tier === 'working')
    const closing = working.filter((record) => record.session === session)
    this.move(closing, 'episodic')
    return working.filter(({ tier }) => tier !== 'working').length
  }

  of(owner: Owner): readonly Held[] {
    return this.held.filter((record) => owner === undefined || record.owner === owner)
  }

  forget(owner: Owner, select: (record: Held) => boolean): number {
    const gone = this.of(owner).filter(select)
    this.held = this.held.filter((record) => !gone.includes(record))
    return gone.length
  }

  move(records: readonly Held[], tier: string): number {
    const moving = this.held.filter(
      (one) => one.tier !== tier && records.some((record) => together(record, one)),
    )
    for (const record of moving) record.tier = tier
    return moving.length
  }

  consolidate(owner: Owner): number {
    let moved = 0
    for (const one of new Set(this.of(owner).map((record) => record.owner))) {
      for (;;) {
        const working = this.of(one).filter(({ tier }) => tier === 'working')
        if (working.length <= CAPACITY) break
        moved += this.move(working.slice(0, 1), 'episodic')
      }
    }
    return moved
  }
}

function together(left: Held, right: Held): boolean {
  if (left.owner !== right.owner) return false
  return left === right || (left.group !== undefined && left.group === right.group)
}

type Step =
  | { readonly kind: 'remember'; readonly record: Written }
  | { readonly kind: 'forget keys'; readonly owner: Owner; readonly prefix: string }
  | { readonly kind: 'close'; readonly owner: Owner; readonly session: string }
  | { readonly kind: 'forget'; readonly owner: Owner; readonly ids: readonly string[] }
  | { readonly kind: 'forget tier'; readonly owner: Owner; readonly tier: string }
  | {
      readonly kind: 'promote'
      readonly owner: Owner
      readonly ids: readonly string[]
      readonly tier: string
    }
  | { readonly kind: 'consolidate'; readonly owner: Owner }

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')
const writer = fc.constantFrom('ann', 'bob', null)
const owner: fc.Arbitrary<Owner> = fc.constantFrom('ann', 'bob', null, undefined)
const tier = fc.constantFrom(...TIER_NAMES)
const ids = fc.array(id, { minLength: 1, maxLength: 4 })
const session = fc.constantFrom('s', 't')
const record: fc.Arbitrary<Written> = fc.record({
  id,
  owner: writer,
  tier: fc.option(tier, { nil: undefined }),
  key: fc.constantFrom(undefined, undefined, 'k', 'k/1', 'k/1/x', 'k/10'),
  session: fc.option(session, { nil: undefined }),
  group: fc.constantFrom(undefined, undefined, 'g', 'h'),
  content: fc.constantFrom('red fox', 'red hen', 'blue fox', 'blue blue hen'),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('remember'), record }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget'), owner, ids }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget tier'), owner, tier }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('promote'), owner, ids, tier }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('consolidate'), owner }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close'), owner, session }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('forget keys'),
      owner,
      prefix: fc.constantFrom('k', 'k/1', 'k/1/'),
    }),
  },
)

/** How the owner travels in a call that has none of its own, or to nobody's records. */
function owned(who: Owner): { owner?: string; [EXTENSION]?: ExtensionParams } {
  if (who === undefined) return {}
  return who === null ? { [EXTENSION]: { owner: null } } : { owner: who }
}

function extended(who: Owner): { [EXTENSION]?: ExtensionParams } {
  return who === undefined ? {} : { [EXTENSION]: { owner: who } }
}

async function take(step: Step, store: OpenStore, model: Model): Promise<void> {
  switch (step.kind) {
    case 'remember': {
      const { owner, ...rest } = step.record
      await store.write({ ...rest, owner: owner ?? undefined })
      return model.remember(step.record)
    }
    case 'forget': {
      const { forgotten } = await store.call('memory/forget', {
        ...owned(step.owner),
        ids: [...step.ids],
      })
      return expect(forgotten).toBe(model.forget(step.owner, ({ id }) => step.ids.includes(id)))
    }
    case 'forget tier': {
      const { forgotten } = await store.call('memory/forget', {
        ...owned(step.owner),
        tier: step.tier,
      })
      return expect(forgotten).toBe(model.forget(step.owner, ({ tier }) => tier === step.tier))
    }
    case 'forget keys': {
      const { owner, prefix } = step
      const params = { ...owned(owner), key_prefix: prefix }
      const { forgotten } = await store.call('memory/forget', params)
      return expect(forgotten).toBe(model.forget(owner, ({ key }) => beneath(key, prefix)))
    }
    case 'close': {
      const params = { ...owned(step.owner), session: step.session }
      const { flushed } = await store.call('memory/session/close', params)
      return expect(flushed).toBe(model.close(step.owner, step.session))
    }
    case 'promote': {
      const params = { ids: [...step.ids], tier: step.tier, ...extended(step.owner) }
      const named = model.of(step.owner).filter(({ id }) => step.ids.includes(id))
      const { promoted } = await store.call('memory/promote', params)
      return expect(promoted).toBe(model.move(named, step.tier))
    }
    case 'consolidate': {
      const { moved } = await store.call('memory/consolidate', extended(step.owner))
      return expect(moved).toBe(model.consolidate(step.owner))
    }
  }
}

function beneath(key: string | undefined, prefix: string): boolean {
  return `${key}/`.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
}

function told(one: Held | MemoryRecord): readonly unknown[] {
  const { id, tier, content, group, session, key, revision } = one
  return [id, one.owner ?? null, tier, content, group, session, key, revision]
}

/** What is found by key and by session. */
async function compareAddresses(store: OpenStore, expected: readonly Held[], who: Owner) {
  for (const prefix of ['k', 'k/1/', 'k/10']) {
    const found = await store.timeline({ ...owned(who), key_prefix: prefix })
    expect(found.map(told)).toEqual(expected.filter(({ key }) => beneath(key, prefix)).map(told))
  }
  const { sessions } = await store.call('memory/session/list', owned(who))
  for (const session of ['s', 't']) {
    const own = expected.filter((record) => record.session === session)
    const found = await store.timeline({ ...owned(who), where: { session } })
    expect(found.map(told)).toEqual(own.map(told))
    const listed = sessions.filter((one) => one.session === session)
    expect(listed.map(({ records }) => records)).toEqual(own.length > 0 ? [own.length] : [])
  }
}

/** Everything that can be read, of everyone and of each. */
async function compare(store: OpenStore, model: Model): Promise<void> {
  for (const who of ['ann', 'bob', null, undefined]) {
    const expected = model.of(who)
    const timeline = await store.timeline(owned(who))
    expect(timeline.map(told)).toEqual(expected.map(told))
    await compareAddresses(store, expected, who)
    for (const name of TIER_NAMES) {
      const inTier = expected.filter(({ tier }) => tier === name)
      expect((await store.counts(owned(who)))[name]).toBe(inTier.length)
      const found = await store.recall({ ...owned(who), tier: name, query: 'foxes', limit: 0 })
      const foxes = inTier.filter(({ content }) => content.includes('fox'))
      expect(idsOf(found).toSorted()).toEqual(foxes.map(({ id }) => id).toSorted())
    }
  }
}

test('a store does what a plain list would, whatever two owners and nobody do', {
  timeout: 60_000,
}, async () => {
  const store = new OpenStore({ tiers: TIERS })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const model = new Model()
      for (const one of steps) await take(one, store, model)
      await compare(store, model)
      for (const tier of TIER_NAMES) await store.call('memory/forget', { tier })
    }),
    { numRuns: 60 },
  )
})
