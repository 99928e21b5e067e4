import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { printEvent, type UsageEvent } from './event.js'
import type { Sink } from './sink.js'

export interface JsonLinesOptions {
  readonly name: string
  readonly path: string
  /** A file that has as many bytes is set aside as `path.1`, that one as `path.2`, and so on. */
  readonly maxBytes: number
  /** How many that were set aside are kept. */
  readonly keep: number
}

/** Appends events to a file, a line each. What is done is done at once, so that it is for a thread of its own. */
export function createJsonLinesSink(options: JsonLinesOptions): Sink {
  return {
    name: options.name,
    batch: 1000,
    async send(events) {
      append(options, events)
      return 0
    },
  }
}

function append(options: JsonLinesOptions, events: readonly UsageEvent[]): void {
  mkdirSync(dirname(options.path), { recursive: true, mode: 0o700 })
  const file = openSync(options.path, 'a', 0o600)
  let size: number
  try {
    size = write(file, Buffer.from(`${events.map(printEvent).join('\n')}\n`))
  } finally {
    closeSync(file)
  }
  if (size >= options.maxBytes) setAside(options)
}

/** Returns the size of the file. What could be written in part is cut off again. */
function write(file: number, bytes: Uint8Array): number {
  const { size } = fstatSync(file)
  if (writeSync(file, bytes) === bytes.length) return size + bytes.length
  ftruncateSync(file, size)
  throw new Error('the disk is full')
}

function setAside({ path, keep }: JsonLinesOptions): void {
  rmSync(`${path}.${keep}`, { force: true })
  for (let number = keep - 1; number >= 0; number--) {
    const from = number === 0 ? path : `${path}.${number}`
    if (existsSync(from)) renameSync(from, `${path}.${number + 1}`)
  }
}
