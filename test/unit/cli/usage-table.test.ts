import pico from 'picocolors'
import { expect, test } from 'vitest'
import type { Told } from '../../../src/cli/usage-source.js'
import { usageTable } from '../../../src/cli/usage-table.js'

const PLAIN = pico.createColors(false)
const SPAN = { from: '2026-03-01T00:00:00.000Z', to: '2026-04-01T00:00:00.000Z', more: false }

const sums = (calls: number) => ({
  calls,
  records_in: 1234,
  records_out: 0,
  characters_in: 1_234_567,
  characters_out: 0,
  vectors_in: 0,
  vectors_out: 0,
  tokens: 5,
  bytes_in: 1024,
  bytes_out: 512,
  ms: calls * 1500,
  attempts: 3,
})

test('names stand left, numbers right with commas, units where they help, totals below', () => {
  const told: Told = {
    ...SPAN,
    lines: [
      { owner: 'alice', owner_kind: 'one', tier: 'working', ...sums(1000) },
      { owner: null, owner_kind: 'none', tier: '', ...sums(1) },
    ],
    totals: sums(1001),
  }
  expect(usageTable(told, PLAIN)).toEqual([
    '2026-03-01T00:00:00.000Z to 2026-04-01T00:00:00.000Z',
    'owner   tier     calls  records in  out  characters in  out  tokens    bytes  attempts  mean time',
    'alice   working  1,000       1,234    0      1,234,567    0       5  1.5 KiB         3     1.50 s',
    '(none)  -            1       1,234    0      1,234,567    0       5  1.5 KiB         3     1.50 s',
    'total            1,001       1,234    0      1,234,567    0       5  1.5 KiB         3     1.50 s',
  ])
})

test('by upstream it tells of asks', () => {
  const asks = {
    calls: 2,
    asks: 3,
    attempts: 5,
    failures: 1,
    refusals: 0,
    skipped: 4,
    records: 9,
    ms: 4.5,
  }
  const told: Told = { ...SPAN, lines: [{ upstream: 'facts', ...asks }], totals: asks, more: true }
  expect(usageTable(told, PLAIN).slice(1)).toEqual([
    'upstream  calls  asks  attempts  failures  refusals  left out  records  mean time',
    'facts         2     3         5         1         0         4        9    1.50 ms',
    'total         2     3         5         1         0         4        9    1.50 ms',
    'and more: narrow the question, or raise --limit',
  ])
})

test('with nothing to tell there is a total of nothing', () => {
  const told: Told = { ...SPAN, lines: [], totals: { records: 0, characters: 0, tier_hours: 0 } }
  expect(usageTable(told, PLAIN).at(-1)).toMatch(/^total +0 +0 +0$/)
})
