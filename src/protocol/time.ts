const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/

/** What nearly every timestamp looks like (§3.3), on a day that every month has: as JavaScript reads it, only far faster. */
const PLAIN =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** The years 0000 to 9999, which is all that RFC 3339 can write in UTC. */
const EARLIEST = Date.UTC(-1, 12)
const END = Date.UTC(10_000, 0)

/**
 * Reads an RFC 3339 timestamp with any offset and any fraction. Returns milliseconds since 1970 with the fraction kept
 * to the microsecond until the year 2248, so that instants within one millisecond keep their order; undefined where the text is not one or has no year of four digits in UTC.
 */
export function parseInstant(text: string): number | undefined {
  if (PLAIN.test(text)) return Date.parse(text)
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match
  const offset = offsetMinutes(zone)
  const days = daysIn(Number(year), Number(month))
  const inRange =
    Number(day) >= 1 && Number(day) <= days && Number(hour) < 24 && Number(minute) < 60
  if (!inRange || Number(second) > 60 || offset === undefined) return undefined
  const inLeapYear = Date.UTC(2000, Number(month) - 1, Number(day), Number(hour), Number(minute))
  const shifted = new Date(inLeapYear).setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const whole = shifted - offset * 60_000 + Number(second) * 1000
  const instant = whole + fractionMs(fraction, whole)
  return instant >= EARLIEST && instant < END ? instant : undefined
}

/** Beyond the instants whose doubles can tell microseconds apart it is cut, so as never to be rounded up. */
function fractionMs(digits: string, whole: number): number {
  const ms = Number(digits.slice(0, 6).padEnd(6, '0')) / 1000
  return Math.abs(whole) < 2 ** 43 ? ms : Math.floor(ms)
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(4, 6))
  if (hours > 23 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** Whether `parseInstant` reads a text, without the work of reading it where the text is as most are. */
export function isTimestamp(text: string): boolean {
  return PLAIN.test(text) || parseInstant(text) !== undefined
}

function daysIn(year: number, month: number): number {
  if (month < 1 || month > 12) return 0
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

/** Prints an instant as §3.3 wants it: UTC, `Z`, milliseconds (a finer fraction is cut, not rounded). */
export function formatInstant(milliseconds: number): string {
  return new Date(Math.floor(milliseconds)).toISOString()
}

/** Where the time comes from. `now` is wall time in ms since 1970, `monotonic` never jumps and is what deadlines are read on. */
export interface Clock {
  now(): number
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}
