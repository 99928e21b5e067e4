import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inKeyRange, keyRange } from '../../../src/protocol/key-prefix.js'
import { embeddedStore, temporaryFolder, tierConfig } from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { caller, keyedMemory, overTiers } from '../../support/keyed.js'

const TIERS = ['a', 'b', 'c', 'd'] as const
type Tier = (typeof TIERS)[number]

/** What should stand at a key. */
interface Fact {
  readonly id: string
  readonly content: string
  readonly revision: number
  readonly tier: string
}

/** All that should stand at one owner's keys. */
class Model {
  readonly facts = new Map<string, Fact>()

  /** Returns the id that stood there before, if any. */
  write(
    key: string,
    { id, content, tier }: { id: string; content: string; tier: Tier | undefined },
  ) {
    const there = this.facts.get(key)
    const revision = there === undefined ? 0 : there.revision + 1
    const where = tier ?? there?.tier ?? 'a'
    this.facts.set(key, { id: there?.id ?? id, content, revision, tier: where })
    return there?.id
  }

  promote(ids: readonly string[], tier: Tier): number {
    const moving = [...this.facts].filter(([, fact]) => ids.includes(fact.id) && fact.tier !== tier)
    for (const [key, fact] of moving) this.facts.set(key, { ...fact, tier })
    return moving.length
  }

  forget(which: (key: string, fact: Fact) => boolean): number {
    const gone = [...this.facts].filter(([key, fact]) => which(key, fact))
    for (const [key] of gone) this.facts.delete(key)
    return gone.length
  }
}

const key = fc.constantFrom('wf/1', 'wf/1/x', 'wf/10', 'city', 'wf/1/')
const tier = fc.constantFrom(...TIERS)
const entry = fc.record({
  key,
  content: fc.string({ maxLength: 5 }),
  tier: fc.option(tier, { nil: undefined }),
})
const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      entries: fc.array(entry, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('promote' as const),
      keys: fc.array(key, { maxLength: 3 }),
      tier,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), key }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('forgetPrefix' as const),
      prefix: fc.constantFrom('wf/1', 'wf/', 'city'),
    }),
  },
)
const step = fc.record({ owner: fc.constantFrom('alice', 'bob'), command })
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Subject {
  readonly model: Model
  readonly actions: ReturnType<typeof caller>
}

async function apply({ model, actions }: Subject, { command }: Step): Promise<void> {
  switch (command.do) {
    case 'write': {
      const ids = await actions.remember(...command.entries)
      for (const [index, { key: at, content, tier: to }] of command.entries.entries()) {
        const id = ids[index] ?? ''
        expect(model.write(at, { id, content, tier: to }) ?? id).toBe(id)
      }
      break
    }
    case 'promote': {
      const ids = command.keys.flatMap((at) => model.facts.get(at)?.id ?? [])
      const { tier: to } = command
      expect(await actions.promote({ ids, tier: to })).toBe(model.promote(ids, to))
      break
    }
    case 'forget': {
      const id = model.facts.get(command.key)?.id ?? 'none'
      const expected = model.forget((_, fact) => fact.id === id)
      expect(await actions.forget({ ids: [id] })).toBe(expected)
      break
    }
    case 'forgetPrefix': {
      const range = keyRange(command.prefix)
      const expected = model.forget((at) => inKeyRange(at, range))
      expect(await actions.forget({ key_prefix: command.prefix })).toBe(expected)
    }
  }
}

async function compare({ model, actions }: Subject): Promise<void> {
  for (const at of ['wf/1', 'wf/1/x', 'wf/10', 'city', 'wf/1/']) {
    const fact = model.facts.get(at)
    const record = await actions.fetch(at)
    if (fact === undefined) expect(record).toBeNull()
    else expect(record).toMatchObject({ key: at, ...fact })
  }
  const told = await actions.timeline()
  const known = [...model.facts].map(([at, { id }]) => `${at}=${id}`)
  expect(told.map((record) => `${record.key}=${record.id}`).toSorted()).toEqual(known.toSorted())
}

test('whatever is written, moved and forgotten, each key has the one record that it should', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const folder = temporaryFolder()
      const store = (name: string) =>
        embeddedStore({ path: join(folder.path, `${name}.db`), tiers: [name] })
      const fixture = await overTiers(
        {
          a: { memory: store('a') },
          b: { memory: keyedMemory() },
          c: { memory: store('c') },
          d: { memory: keyedMemory({ faults: ['prefix-by-characters'] }) },
        },
        { tiers: TIERS.map((name) => tierConfig(name, name)) },
      )
      try {
        const subject = (owner: string) => ({
          model: new Model(),
          actions: caller(fixture, () => ownerContext(owner)),
        })
        const subjects = { alice: subject('alice'), bob: subject('bob') }
        for (const one of steps) {
          await apply(subjects[one.owner], one)
          await compare(subjects[one.owner])
        }
        await Promise.all(Object.values(subjects).map(compare))
        expect(fixture.blamed).toEqual([])
      } finally {
        await fixture.close()
        folder.remove()
      }
    }),
    { numRuns: 40 },
  )
}, 120_000)
