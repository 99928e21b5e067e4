import { beforeAll, describe, expect, test } from 'vitest'
import { type Layout, layOut } from '../../../src/federation/layout.js'
import { arrivals, byScore, type Misbehaviour } from '../../../src/federation/reading/arrivals.js'
import type { Where } from '../../../src/protocol/matches.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import type { Owner } from '../../../src/protocol/scope.js'
import { recallConfig, tierConfig } from '../../support/federation.js'
import { readUpstream } from '../../support/upstreams.js'

let layout: Layout
beforeAll(async () => {
  const upstream = await readUpstream('a', {
    capabilities: ['core', 'tiers', 'scopes'],
    tiers: ['t', 'unmapped'],
  })
  layout = layOut(
    { upstreams: [upstream.config], tiers: [tierConfig('t', 'a')], recall: recallConfig },
    [upstream],
  )
})

function record(id: string, over: Partial<MemoryRecord> = {}): MemoryRecord {
  return { id, content: 'text', created_at: '2026-01-01T00:00:00Z', tier: 't', ...over }
}

function arriving(raw: readonly MemoryRecord[], owner: Owner = undefined, where: Where = {}) {
  const [source] = layout.sources
  if (source === undefined) throw new Error('there is no source')
  const blamed: [string, Misbehaviour, number][] = []
  const target = { source, tiers: ['t'], where }
  const result = arrivals(raw, { target, owner, blame: (...entry) => blamed.push(entry) })
  return { ids: result.arrived.map((one) => one.record.id), unmatched: result.unmatched, blamed }
}

describe('what does not belong into an answer', () => {
  test.each<[string, MemoryRecord[], Owner, Where, ReturnType<typeof arriving>]>([
    ['nothing', [], undefined, {}, { ids: [], unmatched: 0, blamed: [] }],
    [
      'all belong, in their order',
      [record('z'), record('a')],
      undefined,
      {},
      { ids: ['z', 'a'], unmatched: 0, blamed: [] },
    ],
    [
      'foreign records',
      [record('x', { owner: 'bob' }), record('y', { owner: 'alice' }), record('z')],
      'alice',
      {},
      { ids: ['y'], unmatched: 0, blamed: [['a', 'foreign_record', 2]] },
    ],
    [
      'a record twice',
      [record('x'), record('x', { content: 'other' })],
      undefined,
      {},
      { ids: ['x'], unmatched: 0, blamed: [['a', 'duplicate_record', 1]] },
    ],
    [
      'equal ids of two owners',
      [record('x', { owner: 'bob' }), record('x', { owner: 'alice' }), record('x')],
      undefined,
      {},
      { ids: ['x', 'x', 'x'], unmatched: 0, blamed: [] },
    ],
    [
      'owners and ids that would run together',
      [record('b\0c', { owner: 'a' }), record('c', { owner: 'a\0b' })],
      undefined,
      {},
      { ids: ['b\0c', 'c'], unmatched: 0, blamed: [] },
    ],
    [
      "records of a tier that is not mapped are nobody's fault",
      [record('x', { tier: 'unmapped' }), record('y')],
      undefined,
      {},
      { ids: ['y'], unmatched: 0, blamed: [] },
    ],
    [
      'an ignored where',
      [record('x', { role: 'user' }), record('y')],
      undefined,
      { role: 'user' },
      { ids: ['x'], unmatched: 1, blamed: [['a', 'ignored_where', 1]] },
    ],
    [
      "a where that it was not told whole is nobody's fault",
      [record('x', { role: 'user' }), record('y')],
      undefined,
      { created_at: '2027-01-01T00:00:00Z', role: 'user' },
      { ids: [], unmatched: 2, blamed: [] },
    ],
  ])('%s', (_, raw, owner, where, wanted) => {
    expect(arriving(raw, owner, where)).toEqual(wanted)
  })
})

test.each<[string, (number | undefined)[], string, boolean]>([
  ['descending', [0.9, 0.5, 0.5, 0.1], '0123', false],
  ['ascending', [0.1, 0.5, 0.9], '210', true],
  ['one out of its place', [0.9, 0.1, 0.5], '021', true],
  ['ties keep their order', [0.1, 0.5, 0.5], '120', true],
  ['none at all', [undefined, undefined], '01', false],
  ['outside of 0 to 1', [7, 3, -2], '012', false],
])('scores %s', (_, scores, order, blames) => {
  const blamed: unknown[] = []
  const raw = scores.map((score, index) => record(`${index}`, score === undefined ? {} : { score }))
  const ordered = byScore(raw, 'a', (...entry) => blamed.push(entry))
  expect(ordered.map(({ id }) => id).join('')).toBe(order)
  expect(blamed).toEqual(blames ? [['a', 'ascending_scores', 1]] : [])
})
