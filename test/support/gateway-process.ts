import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The program as it is built. */
export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** An empty folder that is gone when the test is over. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2m-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a file into a folder and returns its name. */
export function fileIn(folder: string, name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return name
}

export interface Running {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** How a run ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** One run of the program in a process of its own, killed with the test. */
export class Program {
  readonly child: ChildProcessWithoutNullStreams
  stdout = ''
  stderr = ''
  readonly #ended: Promise<Ended>

  constructor(args: readonly string[], { cwd = emptyFolder(), env = {}, input }: Running = {}) {
    const PATH = dirname(process.execPath)
    this.child = spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH, ...env } })
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.#ended = once(this.child, 'close').then(([code]) => ({
      code,
      stdout: this.stdout,
      stderr: this.stderr,
    }))
    onTestFinished(() => {
      this.child.kill('SIGKILL')
    })
    if (input !== undefined) this.child.stdin.end(input)
  }

  ended(): Promise<Ended> {
    return this.#ended
  }

  /** What the pattern's first group matches on stderr, as soon as it does. */
  async told(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.stderr)
      if (found !== null) return found[1] ?? ''
      const event = await Promise.race([once(this.child.stderr, 'data'), this.#ended])
      if ('code' in event && !pattern.test(this.stderr)) {
        throw new Error(`ended with ${event.code} before it said ${pattern}: ${this.stderr}`)
      }
    }
  }
}

/** Runs the program to its end. */
export function run(args: readonly string[], running: Running = {}): Promise<Ended> {
  return new Program(args, { input: '', ...running }).ended()
}

export const LISTENING = /^listening on (https?:\S+)$/m
export const ADMIN = /^admin on (http:\S+)$/m
