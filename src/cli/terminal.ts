import type { Readable, Writable } from 'node:stream'
import pico from 'picocolors'

export type Colours = ReturnType<typeof pico.createColors>

/** What a command may touch of the process that it runs in. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Of the process itself, which signals are for: a program that has started it may not pass them on. */
  readonly pid: number
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  /** Calls `stop` at the first signal to end; a second one ends the process at once. */
  readonly onStop: (stop: (signal: string) => void) => void
  /** Calls `reload` whenever the process is asked to read its configuration again; until then, being asked ends it. */
  readonly onReload: (reload: () => void) => void
}

/** Colours where the stream is a terminal and `NO_COLOR` is not set; otherwise functions that change nothing. */
export function coloursFor(stream: Writable, env: Terminal['env']): Colours {
  const terminal = 'isTTY' in stream && stream.isTTY === true
  return pico.createColors(terminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb')
}

/** Writes whole lines. */
export function say(stream: Writable, ...lines: readonly string[]): void {
  stream.write(lines.map((line) => `${line}\n`).join(''))
}
