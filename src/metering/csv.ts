import type { UsageLine } from './answer.js'

/** Lines as RFC 4180 has them, the names of the columns first; no lines at all have none. */
export function toCsv(lines: readonly UsageLine[]): string {
  if (lines.length === 0) return ''
  const names = Object.keys(lines[0] ?? {})
  const rows = lines.map((line) => names.map((name) => cell(line[name] ?? null)))
  return [names, ...rows].map((row) => `${row.join(',')}\r\n`).join('')
}

/** A text that begins like a formula gets a quote before it, since a spreadsheet would work it out. */
function cell(value: string | number | null): string {
  if (typeof value !== 'string') return value === null ? '' : `${value}`
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
