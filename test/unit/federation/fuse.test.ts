import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import {
  type Fused,
  fuse,
  type RankedList,
  type Voter,
} from '../../../src/federation/ranking/fuse.js'
import type { Memory } from '../../../src/protocol/memory.js'
import type { Method } from '../../../src/protocol/methods.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { identityOf } from '../../../src/upstreams/translate.js'
import { openFederation, type TestFederation, tierConfig } from '../../support/federation.js'
import { anyContext } from '../../support/federation-contexts.js'
import { PlainMemory } from '../../support/plain-memory.js'
import { Gated } from '../../support/upstreams.js'

const AT = '2026-01-01T00:00:00.000Z'

function record(id: string, over: Partial<MemoryRecord> = {}): MemoryRecord {
  return { id, content: `content of ${id}`, created_at: AT, ...over }
}

function list(name: string, records: readonly (string | MemoryRecord)[]): RankedList {
  return {
    name,
    arrived: records.map((entry) => {
      const told = typeof entry === 'string' ? record(entry) : entry
      return { record: told, at: AT, identity: identityOf(told) }
    }),
    qualify: (id) => `${name}:${id}`,
  }
}

function voter(name: string, weight: number, order: readonly string[]): Voter {
  return {
    name,
    weight,
    rank: (candidates) => order.map((id) => candidates.findIndex((one) => one.id === id)),
  }
}

const told = (fused: readonly Fused[]) =>
  fused.map(({ record: { id, score = Number.NaN } }) => [id, Number(score.toFixed(6))])

/** Worked out by hand: a first of two lists is 1/61 of 2/61, a second (1/62)/(2/61) = 61/124. */
const HALF = 0.5
const SECOND = 0.491935

describe('the golden table', () => {
  test.each<[string, RankedList[], { k?: number; asked: number; voters?: Voter[] }, unknown[]]>([
    ['nothing', [], { asked: 2 }, []],
    [
      'one list keeps its order',
      [list('a', ['x', 'y'])],
      { asked: 1 },
      [
        ['x', 1],
        ['y', 0.983871],
      ],
    ],
    [
      'two lists that share one record',
      [list('a', ['x', 'y']), list('b', ['y', 'z'])],
      { asked: 2 },
      [
        ['y', HALF + SECOND],
        ['x', HALF],
        ['z', SECOND],
      ],
    ],
    [
      'lists without a record in common are dealt out in turn',
      [list('a', ['a1', 'a2']), list('b', ['b1', 'b2'])],
      { asked: 2 },
      [
        ['a1', HALF],
        ['b1', HALF],
        ['a2', SECOND],
        ['b2', SECOND],
      ],
    ],
    [
      'a list that was asked for and did not come lowers what can be had',
      [list('a', ['x', 'y'])],
      { asked: 2 },
      [
        ['x', HALF],
        ['y', SECOND],
      ],
    ],
    [
      'first everywhere is 1',
      [list('a', ['x']), list('b', ['x']), list('c', ['x'])],
      { asked: 3 },
      [['x', 1]],
    ],
    [
      'a voter of weight 1 is one list more, over all candidates',
      [list('a', ['x', 'y'])],
      { asked: 1, voters: [voter('v', 1, ['y'])] },
      [
        ['y', HALF + SECOND],
        ['x', HALF],
      ],
    ],
    [
      'a voter of weight 2 outvotes a list',
      [list('a', ['x', 'y'])],
      { asked: 1, voters: [voter('v', 2, ['y', 'x'])] },
      [
        ['y', 0.994624],
        ['x', 0.989247],
      ],
    ],
    [
      'a small k makes more of a first place',
      [list('a', ['x', 'y'])],
      { k: 0, asked: 1 },
      [
        ['x', 1],
        ['y', HALF],
      ],
    ],
  ])('%s', (_, lists, { k = 60, asked, voters = [] }, wanted) => {
    expect(told(fuse(lists, { k, asked, voters }))).toEqual(wanted)
  })

  test('ranks count from 1, ghosts and repeats of a voter get none', () => {
    const ghostly = voter('v', 1, ['ghost', 'y', 'y', 'x'])
    const fused = fuse([list('a', ['x', 'y'])], { k: 60, asked: 1, voters: [ghostly] })
    expect(
      fused.map(({ record: { id }, votes }) => [id, votes.map(({ list, rank }) => [list, rank])]),
    ).toEqual([
      [
        'x',
        [
          ['a', 1],
          ['v', 2],
        ],
      ],
      [
        'y',
        [
          ['a', 2],
          ['v', 1],
        ],
      ],
    ])
  })
})

describe('what is one record', () => {
  const two = (a: MemoryRecord, b: MemoryRecord) =>
    fuse([list('a', [a]), list('b', [b])], { k: 60, asked: 2, voters: [] })

  test('equal id, owner and content: one hit that both voted for', () => {
    const fused = two(record('x', { owner: 'o', tier: 'here' }), record('x', { owner: 'o' }))
    expect(told(fused)).toEqual([['x', 1]])
    expect(fused[0]?.votes.map(({ list }) => list)).toEqual(['a', 'b'])
    expect(fused[0]?.record.tier).toBe('here')
  })

  test('equal id with other content: both, shown qualified', () => {
    expect(told(two(record('x'), record('x', { content: 'other' })))).toEqual([
      ['a:x', HALF],
      ['b:x', HALF],
    ])
  })

  test('two of three that are one, and one that is not: both qualified', () => {
    const lists = [
      list('a', ['x']),
      list('b', [record('x', { content: 'other' })]),
      list('c', ['x']),
    ]
    const fused = fuse(lists, { k: 60, asked: 3, voters: [] })
    expect(told(fused).map(([id]) => id)).toEqual(['a:x', 'b:x'])
    expect(fused[0]?.votes.map(({ list }) => list)).toEqual(['a', 'c'])
  })

  test.each<[Partial<MemoryRecord>, Partial<MemoryRecord>]>([
    [{ owner: 'alice' }, { owner: 'bob' }],
    [{ owner: 'alice' }, {}],
    [
      { id: 'b\0c', owner: 'a' },
      { id: 'c', owner: 'a\0b' },
    ],
    [{ id: '1\0ab' }, { id: 'b', owner: 'a' }],
  ])('equal ids of two owners stay two, bare: %j %j', (one, other) => {
    const same = { content: 'same' }
    const fused = two(record('x', { ...same, ...one }), record('x', { ...same, ...other }))
    expect(fused.map(({ record: { id } }) => id)).toEqual([one.id ?? 'x', other.id ?? 'x'])
  })
})

const someLists = fc
  .array(fc.uniqueArray(fc.integer({ min: 0, max: 12 }).map(String), { maxLength: 8 }), {
    maxLength: 5,
  })
  .map((all) => all.map((ids, index) => list(`list ${index}`, ids)))

describe('always', () => {
  test('scores descend from 1 at the most to above 0, and shares add up to them', () => {
    fc.assert(
      fc.property(
        someLists,
        fc.integer({ min: 0, max: 100 }),
        fc.double({ min: 0.01, max: 10, noNaN: true }),
        (lists, k, weight) => {
          const voters = [voter('v', weight, ['3', '1', '2', '0'])]
          const fused = fuse(lists, { k, asked: lists.length, voters })
          let last = 1
          for (const { record, votes } of fused) {
            const { score = Number.NaN } = record
            expect(score).toBeGreaterThan(0)
            expect(score).toBeLessThanOrEqual(last)
            last = score
            expect(votes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(score, 10)
          }
        },
      ),
    )
  })

  test('a record that is first everywhere has 1, however many lists there are', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 100 }), (asked, k) => {
        const lists = Array.from({ length: asked }, (_, index) => list(`${index}`, ['x']))
        const [fused] = fuse(lists, { k, asked, voters: [voter('v', 0.1, ['x'])] })
        expect(fused?.record.score).toBeLessThanOrEqual(1)
        expect(fused?.record.score).toBeCloseTo(1, 12)
      }),
    )
  })

  test('every record of every list is there once, and gains by each list that has it', () => {
    fc.assert(
      fc.property(someLists, (lists) => {
        const fused = fuse(lists, { k: 60, asked: lists.length, voters: [] })
        const all = new Set(lists.flatMap(({ arrived }) => arrived.map(({ record: { id } }) => id)))
        expect(fused.map(({ record: { id } }) => id).toSorted()).toEqual([...all].toSorted())
        for (const { record, votes } of fused) {
          const holders = lists.filter(({ arrived }) =>
            arrived.some((one) => one.record.id === record.id),
          )
          expect(votes.map(({ list }) => list)).toEqual(holders.map(({ name }) => name))
        }
      }),
    )
  })

  test('a list more is no harm to a record that is first in it', () => {
    fc.assert(
      fc.property(someLists, (lists) => {
        const place = (all: readonly RankedList[]) =>
          fuse(all, { k: 60, asked: 9, voters: [] }).findIndex(({ record: { id } }) => id === '5')
        const before = place(lists)
        const after = place([...lists, list('more', ['5'])])
        expect(after).toBeGreaterThanOrEqual(0)
        if (before >= 0) expect(after).toBeLessThanOrEqual(before)
      }),
    )
  })
})

let fixture: TestFederation | undefined
afterEach(() => fixture?.close())

const WORDS = ['apple', 'pear', 'plum', 'fig', 'quince', 'lemon']
const sentence = fc
  .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 })
  .map((words) => words.join(' '))

async function over(stores: readonly (readonly string[])[]): Promise<TestFederation> {
  const names = stores.map((_, index) => `s${index}`)
  const upstreams = Object.fromEntries(
    stores.map((contents, index) => {
      const memory = new PlainMemory()
      contents.forEach((content, place) => {
        memory.records.push(record(`${index}-${place}`, { content }))
      })
      return [names[index] ?? '', { memory, config: { ids: 'own' as const } }]
    }),
  )
  return openFederation({ upstreams, tiers: names.map((name) => tierConfig(name, name)) })
}

test('within the window a smaller limit gives the first of a larger one, on a cold start too', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(sentence, { maxLength: 12 }), { minLength: 2, maxLength: 4 }),
      sentence,
      async (stores, query) => {
        const { federation, close } = await over(stores)
        const ids = async (limit: number) => {
          const { records } = await federation.call('memory/recall', { query, limit }, anyContext())
          return records.map(({ id }) => id)
        }
        const few = await ids(5)
        const many = await ids(20)
        expect(few).toEqual(many.slice(0, 5))
        expect(await ids(20)).toEqual(many)
        await close()
      },
    ),
    { numRuns: 25 },
  )
})

/** One method goes through one memory, all others through another. */
function only(gated: Method, through: Memory, past: Memory): Memory {
  return {
    call: (method, params, context) =>
      (method === gated ? through : past).call(method, params, context),
    close: () => past.close(),
  }
}

test('the order does not depend on which answer came first', async () => {
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]
  const answers: unknown[] = []
  for (const order of orders) {
    const gates = ['apple pie', 'apple', 'an apple a day'].map((content, index) => {
      const memory = new PlainMemory()
      memory.records.push(record(`${index}`, { content }), record('shared', { content: 'apples' }))
      return { gate: new Gated(memory), memory }
    })
    const upstreams = Object.fromEntries(
      gates.map(({ gate, memory }, index) => [
        `s${index}`,
        {
          memory: only('memory/recall', gate, memory),
          config: { ids: 'own' as const },
        },
      ]),
    )
    fixture = await openFederation({
      upstreams,
      tiers: [0, 1, 2].map((index) => tierConfig(`s${index}`, `s${index}`)),
    })
    const recalled = fixture.federation.call('memory/recall', { query: 'apple' }, anyContext())
    for (const index of order) {
      await expect.poll(() => gates[index]?.gate.seen).toBe(1)
      gates[index]?.gate.waiting[0]?.pass()
      await new Promise(setImmediate)
    }
    answers.push((await recalled).records)
    await fixture.close()
    fixture = undefined
  }
  expect(answers[1]).toEqual(answers[0])
  expect(answers[2]).toEqual(answers[0])
})
