import { beforeAll, describe, expect, test } from 'vitest'
import { type Layout, layOut } from '../../../src/federation/layout.js'
import { planReading } from '../../../src/federation/plan.js'
import { recallConfig, tierConfig } from '../../support/federation.js'
import { PlainMemory } from '../../support/plain-memory.js'
import { readUpstream, upstreamOver } from '../../support/upstreams.js'

const FULL = { capabilities: ['core', 'tiers', 'scopes'] }

let layout: Layout
beforeAll(async () => {
  const upstreams = [
    await readUpstream('facts', { ...FULL, tiers: ['working', 'semantic'] }),
    await readUpstream('notes', {}),
    await readUpstream('archive', { readOnly: true }, { owner: 'none' }),
    upstreamOver('lost', new PlainMemory()),
  ]
  const tiers = [
    tierConfig('working', 'facts'),
    tierConfig('semantic', 'facts'),
    tierConfig('episodic', 'notes', { also: ['archive'] }),
    tierConfig('procedural', 'lost'),
  ]
  layout = layOut(
    { upstreams: upstreams.map(({ config }) => config), tiers, recall: recallConfig },
    upstreams,
  )
})

const asked = (wanted: Parameters<typeof planReading>[1]) => {
  const { targets, skipped, absent } = planReading(layout, wanted)
  return {
    targets: Object.fromEntries(targets.map(({ source, tiers }) => [source.name, [...tiers]])),
    skipped: Object.fromEntries(skipped),
    absent: [...absent.keys()],
  }
}

const NONE = 'none of the tiers is its'
const MIXES = 'it does not keep owners apart'
const everywhere = {
  facts: ['working', 'semantic'],
  notes: ['episodic'],
  archive: ['episodic'],
}

describe('whom to ask', () => {
  test.each<[string, Parameters<typeof planReading>[1], ReturnType<typeof asked>]>([
    ['everything', { owner: undefined }, { targets: everywhere, skipped: {}, absent: ['lost'] }],
    [
      'everything of one owner',
      { owner: 'alice' },
      {
        targets: { facts: everywhere.facts, archive: ['episodic'] },
        skipped: { notes: MIXES },
        absent: ['lost'],
      },
    ],
    ['what has no owner', { owner: null }, { targets: everywhere, skipped: {}, absent: ['lost'] }],
    [
      'one tier',
      { owner: undefined, tier: 'semantic' },
      { targets: { facts: ['semantic'] }, skipped: { notes: NONE, archive: NONE }, absent: [] },
    ],
    [
      'a tier of an upstream that is not there',
      { owner: undefined, tier: 'procedural' },
      { targets: {}, skipped: { facts: NONE, notes: NONE, archive: NONE }, absent: ['lost'] },
    ],
    [
      'tiers in where, unknown ones included',
      { owner: undefined, where: { tier: ['working', 'episodic', 'nowhere', 7] } },
      {
        targets: { facts: ['working'], notes: ['episodic'], archive: ['episodic'] },
        skipped: {},
        absent: [],
      },
    ],
    [
      'a tier and another in where',
      { owner: undefined, tier: 'working', where: { tier: 'semantic' } },
      { targets: {}, skipped: {}, absent: [] },
    ],
    [
      'a tier of null',
      { owner: undefined, where: { tier: null } },
      { targets: {}, skipped: {}, absent: [] },
    ],
    [
      'ids that say where they are',
      { owner: undefined, where: { id: ['archive:1', 'facts:2'] } },
      {
        targets: { facts: everywhere.facts, archive: ['episodic'] },
        skipped: { notes: 'the ids are not its' },
        absent: ['lost'],
      },
    ],
    [
      'an empty tier is none',
      { owner: undefined, tier: '' },
      { targets: everywhere, skipped: {}, absent: ['lost'] },
    ],
  ])('%s', (_, wanted, plan) => {
    expect(asked(wanted)).toEqual(plan)
  })

  test("where is in each target's own terms, without the tier", () => {
    const where = { tier: ['working', 'episodic'], id: ['x', 'archive:7'], role: 'user' }
    const { targets } = planReading(layout, { owner: undefined, where })
    expect(targets.map((target) => [target.source.name, target.where])).toEqual([
      ['facts', { id: ['x'], role: 'user' }],
      ['notes', { id: ['x'], role: 'user' }],
      ['archive', { id: ['7'], role: 'user' }],
    ])
  })
})

test('an unread upstream that no tier is mapped to yet might have any of them', async () => {
  const upstreams = [
    await readUpstream('facts', { ...FULL, tiers: ['working'] }),
    upstreamOver('lost', new PlainMemory()),
  ]
  const open = layOut(
    { upstreams: upstreams.map(({ config }) => config), tiers: [], recall: recallConfig },
    upstreams,
  )
  const { absent } = planReading(open, { owner: undefined, tier: 'working' })
  expect([...absent.keys()]).toEqual(['lost'])
})

test('where nobody has described itself, all are missing: that is no empty answer', () => {
  const upstreams = [
    upstreamOver('lost', new PlainMemory()),
    upstreamOver('gone', new PlainMemory()),
  ]
  const configs = upstreams.map(({ config }) => config)
  const empty = layOut({ upstreams: configs, tiers: [], recall: recallConfig }, upstreams)
  const { targets, absent } = planReading(empty, { owner: undefined })
  expect(targets).toEqual([])
  expect([...absent.keys()]).toEqual(['lost', 'gone'])
})

test('an unknown tier is an error that lists the known', () => {
  expect(() => asked({ owner: undefined, tier: 'nowhere' })).toThrow(
    expect.objectContaining({
      code: -32002,
      data: { tiers: ['working', 'semantic', 'episodic', 'procedural'] },
    }),
  )
})

test('the name that moved records use in metadata is not to be tested', () => {
  expect(() => asked({ owner: undefined, where: { 'a2m-gateway': {} } })).toThrow(
    expect.objectContaining({ code: -32602 }),
  )
})

test.each([
  [{ session: 's' }, 'it does not declare sessions'],
  [{ session: ['s', 't'], role: 'user' }, 'it does not declare sessions'],
  [{ access_count: 3 }, 'it does not declare salience'],
  [{ key: 'k' }, 'it does not declare keys'],
  [{ session: null }, undefined],
  [{ session: ['s', null] }, undefined],
  [{ colour: 'red' }, undefined],
])('where %j, a read-only upstream that can hold nothing such is left out: %s', (where, reason) => {
  const { targets, skipped } = planReading(layout, { owner: undefined, where })
  expect(skipped.get('archive')).toBe(reason)
  expect(targets.map(({ source }) => source.name)).toContain('notes')
})
