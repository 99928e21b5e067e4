import { invalidParams } from '../protocol/errors.js'

/** A place in a log: behind the event at `position`. Callers see it as opaque text (§4.12). */
export interface Cursor {
  /** The id of the log that it is a place in. */
  readonly log: string
  readonly position: number
}

const WRITTEN = /^([0-9a-f]{16})\.([0-9a-z]{1,10})$/

export function printCursor({ log, position }: Cursor): string {
  return `${log}.${position.toString(36)}`
}

/** Throws `-32602` where no log of ours can have given it. */
export function readCursor(text: string): Cursor {
  const [, log, place = ''] = WRITTEN.exec(text) ?? []
  const position = Number.parseInt(place, 36)
  const cursor = log === undefined ? undefined : { log, position }
  if (cursor === undefined || printCursor(cursor) !== text) {
    throw invalidParams('cursor: must be one that memory/events gave, unchanged')
  }
  return cursor
}
