/**
 * Makes UUIDv7 ids (RFC 9562): time first, so that ids of one process ascend. Within one millisecond, and while the clock
 * stands back, the 12 bits after the time count up and then borrow from the time.
 */
export function createIds(
  now: () => number,
  randomBytes: (size: number) => Uint8Array,
): () => string {
  let millisecond = 0
  let counter = 0
  return () => {
    const time = Math.floor(now())
    if (time > millisecond) {
      millisecond = time
      counter = 0
    } else if (++counter > 0xfff) {
      millisecond++
      counter = 0
    }
    return format(millisecond, counter, randomBytes(8))
  }
}

const MINTED = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Whether an id has the form of those that are made here, which ascend. */
export function isMinted(id: string): boolean {
  return MINTED.test(id)
}

/** The variant is the first two bits of a hexadecimal digit: 10. */
const VARIANTS = '89ab'

function format(millisecond: number, counter: number, random: Uint8Array): string {
  const time = millisecond.toString(16).padStart(12, '0')
  const tail = Buffer.from(random.buffer, random.byteOffset, random.byteLength).toString('hex')
  const variant = VARIANTS.charAt(((random[0] ?? 0) >> 4) & 3)
  const head = `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}`
  return `${head}-${variant}${tail.slice(1, 4)}-${tail.slice(4)}`
}
