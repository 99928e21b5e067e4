import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LISTENING = /listening on (\S+)/g
/** How long a process may take to begin or to end, in ms. */
const PATIENCE = 20_000

/** A server that was started here. */
export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  /** Where it listens, in the order of its lines. */
  readonly urls: readonly string[]
  stop(): Promise<void>
}

export interface Program {
  /** What `node` is given: its own options, the file, the file's arguments. */
  readonly args: readonly string[]
  /** How many lines `listening on URL` on stderr say that it is ready; 1 unless given. */
  readonly listeners?: number
  /** A channel for messages to a preload that answers them. */
  readonly channel?: 'ipc'
}

/** Everything that a run has started, ended with it however it ends. */
export class Processes {
  readonly #running = new Set<ChildProcess>()

  constructor() {
    process.once('exit', () => this.#killAll())
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => process.exit(1))
    }
  }

  /** Starts a server from its TypeScript as it stands. */
  startSource(file: URL, args: readonly string[], listeners = 1): Promise<Running> {
    return this.start({ args: [...source(file), ...args], listeners })
  }

  /** Starts a server and resolves when it listens. */
  async start({ args, listeners = 1, channel }: Program): Promise<Running> {
    const child = this.#spawn(args, channel)
    const urls = await listening(child, listeners)
    return { child, pid: child.pid ?? 0, urls, stop: () => stop(child) }
  }

  /** Starts a program that is spoken to by messages, from its TypeScript as it stands. */
  fork(file: URL): ChildProcess {
    return this.#spawn(source(file), 'ipc')
  }

  /** The same from a file that has been built. */
  forkBuilt(file: string): ChildProcess {
    return this.#spawn([file], 'ipc')
  }

  /** Runs `node` until it ends of itself. */
  async runToEnd(args: readonly string[]): Promise<void> {
    await once(this.#spawn(args, undefined), 'exit')
  }

  /** Ends everything that still runs. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map(stop))
  }

  #spawn(args: readonly string[], channel: 'ipc' | undefined): ChildProcess {
    const stdio = ['ignore', 'ignore', 'pipe', channel ?? 'ignore'] as const
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: [...stdio] })
    this.#running.add(child)
    child.once('exit', () => this.#running.delete(child))
    return child
  }

  #killAll(): void {
    for (const child of this.#running) child.kill('SIGKILL')
  }
}

function source(file: URL): string[] {
  return ['--import', 'tsx', fileURLToPath(file)]
}

/** Reads stderr for as long as the process lives, so that it never waits for a reader. */
function listening(child: ChildProcess, listeners: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let said = ''
    const fail = (): void => reject(new Error(`it did not begin to listen:\n${said}`))
    const timer = setTimeout(fail, PATIENCE)
    child.once('exit', fail)
    const read = (chunk: Buffer): void => {
      said += chunk.toString()
      const urls = [...said.matchAll(LISTENING)].map(([, url = '']) => url)
      if (urls.length < listeners || !said.endsWith('\n')) return
      clearTimeout(timer)
      child.off('exit', fail)
      child.stderr?.off('data', read).resume()
      resolve(urls)
    }
    child.stderr?.on('data', read)
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
  await gone
  clearTimeout(timer)
}

/** Sends a message and resolves with the next one that comes back. */
export function converse(child: ChildProcess, message: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('a process ended instead of answering'))
    child.once('exit', ended)
    child.once('message', (answer) => {
      child.off('exit', ended)
      resolve(answer)
    })
    child.send(message)
  })
}
