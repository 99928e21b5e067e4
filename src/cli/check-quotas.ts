import type { QuotaConfig } from '../config/quotas.js'
import { heading } from './heading.js'
import { type Cell, table } from './table.js'
import type { Colours } from './terminal.js'

/** The limits on callers, in the order of the file; nothing where there are none. */
export function quotaLines(quotas: readonly QuotaConfig[], colours: Colours): readonly string[] {
  if (quotas.length === 0) return []
  const first = heading(['quota', 'of', 'per', 'window', 'limit', 'shadow', 'only for'], colours)
  return [...table([first, ...quotas.map(quotaRow)]), '']
}

function quotaRow(quota: QuotaConfig): Cell[] {
  const { name, of, per, window, limit, mode } = quota
  const shadow = mode === 'shadow' ? 'yes' : '-'
  return [name, of, per, windowOf(window), `${limit}`, shadow, onlyFor(quota)]
}

const NAMED = new Map([
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
])
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const

/** As the configuration would have it. */
function windowOf(window: QuotaConfig['window']): string {
  if (window === undefined) return '-'
  if (window === 'month') return window
  const [unit, ms] = UNITS.find(([, one]) => window % one === 0) ?? ['ms', 1]
  return NAMED.get(window) ?? `${window / ms}${unit}`
}

function onlyFor({ callers, roles, owners, methods }: QuotaConfig): string {
  const parts = Object.entries({ callers, roles, owners, methods })
  return parts
    .flatMap(([part, names]) => (names === undefined ? [] : [`${part} ${names.join(', ')}`]))
    .join('; ')
}
