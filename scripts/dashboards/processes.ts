import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { located, remedyFor } from '../services.mjs'

/** A program that is run beside this one, and is gone when all is over. */
export class Running {
  readonly #name: string
  readonly #command: readonly string[]
  readonly #ready: RegExp
  #child: ChildProcess | undefined

  /** Nothing is started yet. `ready` is what it says, on either stream, once it can be used. */
  constructor(name: string, command: readonly string[], ready: RegExp) {
    this.#name = name
    this.#command = command
    this.#ready = ready
  }

  /** Resolves when it is ready; rejects with what it said where it ends before that. */
  async start(): Promise<void> {
    const [program = '', ...args] = this.#command
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    let said = ''
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer): void => {
        if (said.length < 100_000) said += chunk.toString()
        if (this.#ready.test(said)) resolve()
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
      child.on('error', reject)
      child.on('exit', (code) => reject(new Error(`${this.#name} ended with ${code}: ${said}`)))
    })
  }

  /** Holds it up, and lets it go on. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
}

/** Where a program is that Debian has a package of. */
export function find(program: string): string {
  const found = located(program)
  if (found === undefined) throw new Error(`${program} is missing; ${remedyFor(program)}`)
  return found
}

/** Ports of this machine that nothing listens on. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address !== null && typeof address === 'object') ports.push(address.port)
  }
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
