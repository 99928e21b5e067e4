import { isUtf8 } from 'node:buffer'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { LineSplitter } from '../protocol/lines.js'
import type { Schedule } from './backoff.js'
import type { Parcel } from './correlator.js'
import type { TransportEvents } from './events.js'
import { type ProcessGroups, signalGroup } from './process-group.js'
import type { Link, LinkReports } from './supervised.js'

export interface ChildOptions {
  /** The program and its arguments; no shell reads them. */
  readonly command: readonly [string, ...string[]]
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
  readonly groups: ProcessGroups
  readonly schedule: Schedule
  /** Ms from the end of stdin to SIGTERM, and from there to SIGKILL. */
  readonly grace: number
  /** The longest line of stdout that is taken for a message. */
  readonly maxLineBytes: number
  readonly events: TransportEvents
}

const MAX_STDERR_LINE = 8192
const BLANK = /^\s*$/

type Process = ChildProcessByStdio<Writable, Readable, Readable>

/** Starts the command as the leader of a process group of its own, so that what it starts in turn can be ended with it. */
export function launchChild(options: ChildOptions, reports: LinkReports): Link {
  try {
    return new Child(spawnGroup(options), options, reports)
  } catch (thrown) {
    queueMicrotask(() => reports.ended(startFailure(thrown)))
    return { carry: () => {}, end: async () => {} }
  }
}

function spawnGroup({ command, env, cwd }: ChildOptions): Process {
  const [program, ...args] = command
  return spawn(program, args, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

class Child implements Link {
  readonly #process: Process
  readonly #options: ChildOptions
  readonly #reports: LinkReports
  readonly #over: Promise<void>
  readonly #undos: (() => void)[] = []
  /** What waits for room in the pipe. */
  #waiting: Parcel[] = []
  #full: boolean
  #reason = 'the process ended'

  constructor(child: Process, options: ChildOptions, reports: LinkReports) {
    this.#process = child
    this.#options = options
    this.#reports = reports
    this.#full = child.pid === undefined
    if (child.pid !== undefined) options.groups.add(child.pid)
    this.#listenToStdout()
    this.#listenToStderr()
    child.stdin.on('drain', () => this.#flush()).on('error', () => this.#stopWriting())
    child.on('error', (error) => {
      this.#reason = startFailure(error)
    })
    child.on('exit', (code, signal) => this.#exited(code, signal))
    this.#over = new Promise((resolve) => {
      child.on('close', () => resolve(this.#closed()))
    })
  }

  carry(parcel: Parcel): void {
    if (this.#full) this.#waiting.push(parcel)
    else this.#write(parcel)
  }

  async end(): Promise<void> {
    const { schedule, grace } = this.#options
    this.#process.stdin.end()
    this.#undos.push(schedule(() => this.#signal('SIGTERM'), grace))
    this.#undos.push(schedule(() => this.#kill(), 2 * grace))
    await this.#over
  }

  #write(parcel: Parcel): void {
    parcel.markSent()
    this.#full = !this.#process.stdin.write(`${parcel.text}\n`)
  }

  #flush(): void {
    this.#full = false
    const waiting = this.#waiting.filter((parcel) => !parcel.unwanted)
    this.#waiting = []
    for (const parcel of waiting) this.carry(parcel)
  }

  /** The other end of the pipe is gone: what waits is never sent, and fails when the process has ended. */
  #stopWriting(): void {
    this.#full = true
    this.#process.stdin.removeAllListeners('drain')
  }

  #listenToStdout(): void {
    const { maxLineBytes, events } = this.#options
    const lines = new LineSplitter(maxLineBytes, () => events.onNoise?.('overlong'))
    const { stdout } = this.#process
    stdout.on('error', () => {})
    stdout.on('data', (chunk: Buffer) => {
      for (const line of lines.push(chunk)) this.#line(line)
    })
    stdout.on('end', () => {
      const rest = lines.end()
      if (rest !== undefined) this.#line(rest)
    })
  }

  #line(line: Buffer): void {
    if (!isUtf8(line)) this.#options.events.onNoise?.('not_utf8')
    else {
      const text = line.toString('utf8')
      if (!BLANK.test(text)) this.#reports.received(text)
    }
  }

  #listenToStderr(): void {
    const { events } = this.#options
    const { stderr } = this.#process
    const lines = new LineSplitter(MAX_STDERR_LINE, () =>
      events.onStderr?.(`[a line over ${MAX_STDERR_LINE} bytes was left out]`),
    )
    const tell = (line: Buffer): void => events.onStderr?.(line.toString('utf8').trimEnd())
    stderr.on('error', () => {})
    stderr.on('data', (chunk: Buffer) => lines.push(chunk).forEach(tell))
    stderr.on('end', () => {
      const rest = lines.end()
      if (rest !== undefined) tell(rest)
    })
  }

  /** The first process of the group has ended; whatever it started must not stay behind. */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#reason = signal ? `the process was ended by ${signal}` : `the process ended with ${code}`
    this.#stopWriting()
    this.#signal('SIGTERM')
    this.#undos.push(this.#options.schedule(() => this.#kill(), this.#options.grace))
  }

  /** Nobody holds the pipes any more. */
  #closed(): void {
    for (const undo of this.#undos) undo()
    this.#signal('SIGKILL')
    if (this.#process.pid !== undefined) this.#options.groups.delete(this.#process.pid)
    this.#reports.ended(this.#reason)
  }

  /** Pipes are let go of too, since a process that left the group may still hold them. */
  #kill(): void {
    this.#signal('SIGKILL')
    this.#process.stdout.destroy()
    this.#process.stderr.destroy()
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#process.pid !== undefined) signalGroup(this.#process.pid, signal)
  }
}

function startFailure(thrown: unknown): string {
  const code =
    thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string'
      ? thrown.code
      : 'unknown reason'
  return `the process could not be started (${code})`
}
