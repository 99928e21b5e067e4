import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The program as it is built. */
export const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

/** An empty folder, and its removal. */
export function createFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'a2m-acceptance-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A run of the built program. */
export interface Program {
  readonly child: ChildProcessWithoutNullStreams
  /** What it has said on stderr so far. */
  stderr(): string
  /** Ends it as an operator would, and tells its exit code. */
  stop(): Promise<number | null>
}

/** Runs the built program with nothing of this process's environment but the way to Node and what is given. */
export function startProgram(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Program {
  const PATH = dirname(process.execPath)
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH, ...env } })
  const closed = once(child, 'close')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  return {
    child,
    stderr: () => said,
    async stop() {
      if (child.exitCode === null) child.kill('SIGTERM')
      const [code] = await closed
      return code
    },
  }
}

const LISTENING = /^listening on (http:\S+)$/m

/** Where a program that serves HTTP listens, once it says so. */
export async function addressOf(program: Program): Promise<string> {
  const ended = once(program.child, 'close').then(() => 'ended' as const)
  for (;;) {
    const [, url] = LISTENING.exec(program.stderr()) ?? []
    if (url !== undefined) return url
    const event = await Promise.race([once(program.child.stderr, 'data'), ended])
    if (event === 'ended') throw new Error(`it ended and said: ${program.stderr()}`)
  }
}
