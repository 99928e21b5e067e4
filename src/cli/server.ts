import type { Readable, Writable } from 'node:stream'
import { Failure } from './failure.js'
import { coloursFor, say, type Terminal } from './terminal.js'

/** Something that serves until it is closed. */
export interface Serving {
  /** Resolves when there is nothing left to serve; for listeners that is never. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** How much longer than its own limit a server may take to close, in ms. */
const PATIENCE = 2000

/** Serves until a signal or the end of the input, then closes within `limit` ms and a little. */
export async function serveUntilStopped(
  serving: Serving,
  limit: number,
  terminal: Terminal,
): Promise<void> {
  const signal = new Promise<string>((resolve) => terminal.onStop(resolve))
  const why = await Promise.race([signal, serving.ended.then(() => undefined)])
  if (why !== undefined)
    say(terminal.stderr, `${why}: finishing what is under way; again to stop at once`)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const failure = new Failure(1, 'closing took too long; some of what was under way was cut off')
    timer = setTimeout(() => reject(failure), limit + PATIENCE)
  })
  try {
    await Promise.race([serving.close(), late])
  } finally {
    clearTimeout(timer)
  }
}

const SIGNALS = {
  stop: 'SIGTERM stops',
  'reload and stop': 'SIGHUP reads the configuration again, SIGTERM stops',
} as const

/** Says which process signals are to be sent to, and what they do. */
export function sayPid(signals: keyof typeof SIGNALS, { stderr, env, pid }: Terminal): void {
  say(stderr, coloursFor(stderr, env).dim(`pid ${pid}: ${SIGNALS[signals]}`))
}

interface Closable {
  close(): Promise<void>
}

/** What was opened is closed again where it cannot begin to serve. */
export async function orClose<T>(app: Closable, beginning: Promise<T>): Promise<T> {
  try {
    return await beginning
  } catch (thrown) {
    await app.close()
    throw thrown
  }
}

/** Listeners serve until they are closed. */
export function onListener(app: Closable): Serving {
  return { ended: new Promise<void>(() => {}), close: () => app.close() }
}

interface OnStdio extends Closable {
  serveStdio(input: Readable, output: Writable): Promise<void>
}

/** Stdin serves until it ends; closing ends it. */
export function onStdio(app: OnStdio, { stdin, stdout }: Terminal): Serving {
  const ended = app.serveStdio(stdin, stdout)
  return {
    ended,
    async close() {
      stdin.destroy()
      await ended
      await app.close()
    },
  }
}
