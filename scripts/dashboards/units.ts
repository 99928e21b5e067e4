const SI = ['', 'k', 'M', 'G', 'T'] as const
const IEC = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number as people read it, in one of Grafana's units. */
export function format(value: number, unit: string, decimals?: number): string {
  if (!Number.isFinite(value)) return '–'
  const formatter = FORMATTERS[unit]
  if (formatter === undefined) throw new Error(`no unit ${unit}`)
  return formatter(value, decimals)
}

type Formatter = (value: number, decimals: number | undefined) => string

const FORMATTERS: Readonly<Record<string, Formatter>> = {
  short: (value, decimals) => scaled(value, 1000, SI, decimals),
  reqps: (value, decimals) => `${scaled(value, 1000, SI, decimals)} req/s`,
  bytes: (value, decimals) => scaled(value, 1024, IEC, decimals, ' '),
  Bps: (value, decimals) => `${scaled(value, 1000, SI, decimals, ' ')}B/s`,
  percentunit: (value, decimals) => `${digits(value * 100, decimals)} %`,
  s: seconds,
  d: (value, decimals) => `${digits(value, decimals)} days`,
}

function seconds(value: number, decimals: number | undefined): string {
  if (value === 0) return '0 s'
  const size = Math.abs(value)
  if (size < 0.001) return `${digits(value * 1e6, decimals)} µs`
  if (size < 1) return `${digits(value * 1000, decimals)} ms`
  return size < 120 ? `${digits(value, decimals)} s` : `${digits(value / 60, decimals)} min`
}

function scaled(
  value: number,
  base: number,
  names: readonly string[],
  decimals: number | undefined,
  gap = '',
): string {
  const steps = value === 0 ? 0 : Math.floor(Math.log(Math.abs(value)) / Math.log(base))
  const step = Math.min(Math.max(0, steps), names.length - 1)
  return `${digits(value / base ** step, decimals)}${gap}${names[step]}`
}

/** Three digits that say something, unless it is said how many come after the point. */
function digits(value: number, decimals: number | undefined): string {
  if (decimals !== undefined) return value.toFixed(decimals)
  const before = Math.abs(value) < 1 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1
  return String(Number(value.toFixed(Math.max(0, 3 - before))))
}
