import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { grouped } from '../../../src/federation/grouping.js'
import { layOut, type Source } from '../../../src/federation/layout.js'
import { groupOf, type Located } from '../../../src/federation/locate.js'
import { earnedIn, surplusIn } from '../../../src/federation/moving/surplus.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { formatInstant } from '../../../src/protocol/time.js'
import { recallConfig, tierConfig } from '../../support/federation.js'
import { readUpstream } from '../../support/upstreams.js'

const NOW = Date.UTC(2026, 5, 1)
const DAY = 86_400_000

let source: Source
beforeAll(async () => {
  const upstream = await readUpstream('here', { capabilities: ['core', 'tiers'], tiers: ['w'] })
  const tiers = [tierConfig('w', 'here')]
  const layout = layOut({ upstreams: [upstream.config], tiers, recall: recallConfig }, [upstream])
  const [only] = layout.sources
  if (only === undefined) throw new Error('there is no source')
  source = only
})

/** A record so many days old. */
function found(id: string, days: number, fields: Partial<MemoryRecord> = {}): Located {
  const at = formatInstant(NOW - days * DAY)
  const record = { id, content: id, created_at: at, ...fields }
  return { source, hereId: id, record, at }
}

const bounds = { capacity: 2, perSession: false, halfLife: undefined }
const idsOf = (located: readonly Located[]) => located.map(({ record }) => record.id).toSorted()

describe('what is too much', () => {
  test('goes from the oldest on, and groups go whole', () => {
    const records = [
      found('new', 1),
      found('old-in-young-group', 9, { group: 'g' }),
      found('oldest', 8),
      found('young', 2, { group: 'g' }),
    ]
    expect(idsOf(surplusIn(records, { ...bounds, capacity: 3 }, NOW))).toEqual(['oldest'])
    expect(idsOf(surplusIn(records, bounds, NOW))).toEqual([
      'old-in-young-group',
      'oldest',
      'young',
    ])
  })

  test('is each owner its own', () => {
    const records = ['a', 'b'].flatMap((owner) =>
      [1, 2, 3].map((days) => found(`${owner}${days}`, days, { owner })),
    )
    expect(idsOf(surplusIn(records, bounds, NOW))).toEqual(['a3', 'b3'])
  })

  test('a busy session takes nothing from a quiet one, and records without a session share one', () => {
    const busy = [1, 2, 3, 4].map((days) => found(`busy${days}`, days, { session: 'busy' }))
    const quiet = [50, 60].map((days) => found(`quiet${days}`, days, { session: 'quiet' }))
    const loose = [5, 6, 7].map((days) => found(`loose${days}`, days))
    const records = [...busy, ...quiet, ...loose]
    expect(idsOf(surplusIn(records, { ...bounds, perSession: true }, NOW))).toEqual([
      'busy3',
      'busy4',
      'loose7',
    ])
    expect(idsOf(surplusIn(records, { ...bounds, capacity: 8 }, NOW))).toEqual(['quiet60'])
  })

  test('with a half-life the weakest go, a group by its strongest member', () => {
    const fading = { ...bounds, halfLife: 7 * DAY }
    const records = [
      found('old but praised', 14, { salience: 8 }),
      found('old but used', 30, { accessed_at: formatInstant(NOW) }),
      found('young and weak', 1, { salience: 0.1 }),
      found('weak in a strong group', 1, { salience: 0.01, group: 'g' }),
      found('strong in it', 1, { salience: 9, group: 'g' }),
    ]
    expect(idsOf(surplusIn(records, { ...fading, capacity: 4 }, NOW))).toEqual(['young and weak'])
    expect(idsOf(surplusIn(records, { ...fading, capacity: 3 }, NOW))).toEqual([
      'old but used',
      'young and weak',
    ])
  })

  test('is order enough for records as old as can be', () => {
    const records = [found('a', 20_000), found('b', 20_001), found('c', 19_999)]
    expect(idsOf(surplusIn(records, { ...bounds, halfLife: 1 }, NOW))).toEqual(['b'])
    expect(
      idsOf(
        surplusIn(
          records.map((one) => ({ ...one, record: { ...one.record, salience: 0 } })),
          { ...bounds, halfLife: 1 },
          NOW,
        ),
      ),
    ).toHaveLength(1)
  })

  const anyRecord = fc.record({
    days: fc.nat({ max: 400 }),
    group: fc.constantFrom(undefined, 'g1', 'g2', 'g3'),
    session: fc.constantFrom(undefined, 's1', 's2'),
    owner: fc.constantFrom('a', 'b'),
    salience: fc.constantFrom(undefined, 0, 1, 5),
  })
  test('is never a part of a group, leaves no bucket over, and takes no group that nobody had to go for', () => {
    fc.assert(
      fc.property(
        fc.array(anyRecord, { maxLength: 30 }),
        fc.nat({ max: 6 }),
        fc.boolean(),
        fc.constantFrom(undefined, DAY),
        (seeds, capacity, perSession, halfLife) => {
          const records = seeds.map(({ days, ...fields }, index) =>
            found(`r${index}`, days, fields),
          )
          const bucketOf = ({ record }: Located) =>
            `${record.owner}|${perSession ? record.session : ''}`
          const going = new Set(surplusIn(records, { capacity, perSession, halfLife }, NOW))
          const staying = records.filter((one) => !going.has(one))
          const groups = new Set([...going].map(({ record }) => groupOf(record)))
          expect(staying.some(({ record }) => groups.has(groupOf(record)))).toBe(false)
          const count = (located: readonly Located[]) => grouped(located, bucketOf)
          for (const left of count(staying).values())
            expect(left.length).toBeLessThanOrEqual(capacity)
          const over = [...count(records)].filter(([, { length }]) => length > capacity)
          if (over.length === 0) expect(going.size).toBe(0)
        },
      ),
      { numRuns: 500 },
    )
  })
})

test('what has been used enough has earned it for its whole group', () => {
  const records = [
    found('used', 1, { access_count: 3, group: 'g' }),
    found('along', 1, { group: 'g' }),
    found('more', 1, { access_count: 9 }),
    found('less', 1, { access_count: 2 }),
    found('never', 1),
  ]
  expect(idsOf(earnedIn(records, 3))).toEqual(['along', 'more', 'used'])
})
