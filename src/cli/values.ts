import { InvalidArgumentError } from 'commander'
import { lifetime } from '../config/values.js'
import { parseInstant } from '../protocol/time.js'

/** Reads a port from the command line; 0 picks a free one. */
export function port(written: string): number {
  const number = /^\d{1,5}$/.test(written) ? Number(written) : Number.NaN
  if (!(number <= 65_535)) throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return number
}

/** Reads a text that must say something. */
export function something(written: string): string {
  if (written === '') throw new InvalidArgumentError('It must not be empty.')
  return written
}

/** Reads what can stand in a header as it is. */
export function headerValue(written: string): string {
  if (/^[\x21-\x7e]+$/.test(written)) return written
  throw new InvalidArgumentError('It is a name such as a2m/0.1, without spaces.')
}

/** Reads names that are separated by commas. */
export function list(written: string): readonly string[] {
  const names = written.split(',').map((name) => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('Names are separated by single commas.')
  if (new Set(names).size < names.length) throw new InvalidArgumentError('A name stands twice.')
  return names
}

/** Reads an owner, several that are separated by commas, or "*" for every one. */
export function owners(written: string): string | readonly string[] {
  const [first, ...rest] = list(something(written))
  if (first === undefined || rest.length === 0) return something(written)
  if (first === '*' || rest.includes('*')) {
    throw new InvalidArgumentError('"*" is every owner, and stands alone.')
  }
  return [first, ...rest]
}

/** Reads an instant, a day, which begins in UTC, or how long from now it is; gives wall time in ms. */
export function instantFrom(now: () => number): (written: string) => number {
  return (written) => {
    const span = lifetime.safeParse(written)
    const day = /^\d{4}-\d\d-\d\d$/.test(written) ? `${written}T00:00:00Z` : written
    const instant = span.success ? now() + span.data : parseInstant(day)
    if (instant === undefined) {
      throw new InvalidArgumentError(
        'It is a duration such as 90d or 12h, a day such as 2027-01-31, or 2027-01-31T00:00:00Z.',
      )
    }
    if (instant <= now()) throw new InvalidArgumentError('It is in the past.')
    return instant
  }
}

/** Reads a SHA-256 in hexadecimal. */
export function sha256(written: string): string {
  if (!/^[0-9a-fA-F]{64}$/.test(written)) {
    throw new InvalidArgumentError('A SHA-256 has 64 hexadecimal digits; `keys new` makes one.')
  }
  return written.toLowerCase()
}

/** Reads how many; 0 is none. */
export function count(written: string): number {
  const number = /^\d{1,9}$/.test(written) ? Number(written) : Number.NaN
  if (Number.isNaN(number)) throw new InvalidArgumentError('It is a whole number, 0 for none.')
  return number
}

/** Reads a number of seconds, more than none and at most a day, as ms. */
export function seconds(written: string): number {
  const number = /^\d+(\.\d+)?$/.test(written) ? Number(written) : Number.NaN
  if (!(number > 0 && number <= 86_400)) {
    throw new InvalidArgumentError('A time is a number of seconds, at most 86400.')
  }
  return number * 1000
}
