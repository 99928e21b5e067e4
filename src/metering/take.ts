import { readFile } from 'node:fs/promises'
import { readEvent, type UsageEvent } from './event.js'
import type { Segment } from './lane.js'
import type { Ledger } from './ledger.js'

/** What became of one segment: events that were new to the ledger, lines that were torn, and the time of the last event. */
export interface Taken {
  readonly added: number
  readonly torn: number
  readonly last: number | undefined
}

const BATCH = 1000
const LINE_END = 0x0a

/**
 * Brings the events of a segment that is no longer written to into the ledger, some at a time, each time with how far they go. What is in
 * the ledger already is passed over, and so is a line that a crash has torn.
 */
export async function takeSegment(
  ledger: Ledger,
  lane: string,
  { number, path }: Pick<Segment, 'number' | 'path'>,
): Promise<Taken> {
  const done = await ledger.position(lane)
  if (done !== undefined && number < done.segment) return { added: 0, torn: 0, last: undefined }
  const bytes = await readFile(path)
  let position = done?.segment === number ? done.position : 0
  let [added, torn] = [0, 0]
  let last: number | undefined
  while (position < bytes.length) {
    const batch = readBatch(bytes, position)
    position = batch.end
    torn += batch.torn
    last = batch.events.at(-1)?.at ?? last
    added += await ledger.add({ lane, segment: number, position, events: batch.events })
  }
  return { added, torn, last }
}

function readBatch(bytes: Buffer, start: number) {
  const events: UsageEvent[] = []
  let [end, torn] = [start, 0]
  while (end < bytes.length && events.length < BATCH) {
    const lineEnd = bytes.indexOf(LINE_END, end)
    const line = bytes.toString('utf8', end, lineEnd < 0 ? bytes.length : lineEnd)
    end = lineEnd < 0 ? bytes.length : lineEnd + 1
    const event = readEvent(line)
    if (event === undefined) torn++
    else events.push(event)
  }
  return { events, end, torn }
}
