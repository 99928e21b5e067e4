import type { Cell } from './table.js'
import type { Colours } from './terminal.js'

/** The first row of a table. */
export function heading(names: readonly string[], { bold }: Colours): Cell[] {
  return names.map((text) => ({ text, paint: bold }))
}
