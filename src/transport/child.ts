import { isUtf8 } from 'node:buffer'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { LineSplitter } from '../protocol/lines.js'
import type { Schedule } from './backoff.js'
import type { Parcel } from './correlator.js'
import type { TransportEvents } from './events.js'
import { Outbox } from './outbox.js'
import { type ProcessGroups, signalGroup, sweepGroup } from './process-group.js'
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
  // Where the system is out of files the process comes without pipes, which throws here and is reported all the same.
  try {
    return new Child(spawnGroup(options), options, reports)
  } catch (thrown) {
    queueMicrotask(() => reports.ended({ reason: startFailure(thrown) }))
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
  readonly #outbox: Outbox
  readonly #over: Promise<void>
  readonly #undos: (() => void)[] = []
  #reason = 'the process ended'
  #ending = false

  constructor(child: Process, options: ChildOptions, reports: LinkReports) {
    child.on('error', (error) => {
      this.#reason = startFailure(error)
    })
    this.#process = child
    this.#options = options
    this.#outbox = new Outbox(child.stdin)
    if (child.pid === undefined) this.#outbox.close()
    else options.groups.add(child.pid)
    child.stdin.on('error', () => this.#hungUp())
    listenToStdout(child.stdout, options, reports).on('end', () => this.#hungUp())
    listenToStderr(child.stderr, options.events)
    child.on('exit', (code, signal) => this.#exited(code, signal))
    this.#over = new Promise((resolve) => {
      child.on('close', async () => {
        await this.#closed()
        reports.ended({ reason: this.#reason })
        resolve()
      })
    })
  }

  carry(parcel: Parcel): void {
    this.#outbox.carry(parcel)
  }

  async end(): Promise<void> {
    this.#process.stdin.end()
    this.#endInTime()
    await this.#over
  }

  /** A process that closed its stdin or stdout is of no use even if it goes on; mostly it is about to end. */
  #hungUp(): void {
    this.#outbox.close()
    const { pid, exitCode, signalCode } = this.#process
    if (pid !== undefined && exitCode === null && signalCode === null) this.#endInTime()
  }

  #endInTime(): void {
    if (this.#ending) return
    this.#ending = true
    this.#after(1, () => this.#signal('SIGTERM'))
    this.#after(2, () => this.#signal('SIGKILL'))
  }

  /** The first process of the group has ended; whatever it started must not stay behind. */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#reason = signal ? `the process was ended by ${signal}` : `the process ended with ${code}`
    this.#outbox.close()
    this.#signal('SIGTERM')
    this.#after(1, () => this.#signal('SIGKILL'))
    this.#after(2, () => this.#letGo())
  }

  /** Nobody holds the pipes any more. */
  async #closed(): Promise<void> {
    for (const undo of this.#undos) undo()
    const { pid } = this.#process
    if (pid === undefined) return
    const { groups, schedule } = this.#options
    await sweepGroup(pid, schedule)
    groups.delete(pid)
  }

  /** A process that has left the group may hold the pipes for ever. */
  #letGo(): void {
    this.#process.stdout.destroy()
    this.#process.stderr.destroy()
  }

  #after(graces: number, run: () => void): void {
    const { schedule, grace } = this.#options
    this.#undos.push(schedule(run, graces * grace))
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#process.pid !== undefined) signalGroup(this.#process.pid, signal)
  }
}

function listenToStdout(
  stdout: Readable,
  { maxLineBytes, events }: ChildOptions,
  reports: LinkReports,
): Readable {
  const lines = new LineSplitter(maxLineBytes, () => events.onNoise?.('overlong'))
  return readLines(stdout, lines, (line) => {
    if (!isUtf8(line)) events.onNoise?.('not_utf8')
    else {
      const text = line.toString('utf8')
      if (!BLANK.test(text)) reports.received(text)
    }
  })
}

function listenToStderr(stderr: Readable, { onStderr }: TransportEvents): void {
  const lines = new LineSplitter(MAX_STDERR_LINE, () =>
    onStderr?.(`[a line over ${MAX_STDERR_LINE} bytes was left out]`),
  )
  readLines(stderr, lines, (line) => onStderr?.(line.toString('utf8').trimEnd()))
}

/** Tells each line of a stream, the last one also where its line break is missing. */
function readLines(stream: Readable, lines: LineSplitter, tell: (line: Buffer) => void): Readable {
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    for (const line of lines.push(chunk)) tell(line)
  })
  return stream.on('end', () => {
    const rest = lines.end()
    if (rest !== undefined) tell(rest)
  })
}

function startFailure(thrown: unknown): string {
  const code =
    thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string'
      ? thrown.code
      : 'unknown reason'
  return `the process could not be started (${code})`
}
