import { PassThrough, type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { run } from '../../src/cli/program.js'

export interface Faked {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** How a command line ended that ran in this process. */
export interface Told {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command line in this process, with streams that are no terminal. No signal ever comes. */
export async function runHere(argv: readonly string[], faked: Faked = {}): Promise<Told> {
  const { cwd = '/nowhere', env = {}, input = '' } = faked
  const stdin = new PassThrough()
  stdin.end(input)
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const code = await run(argv, {
    env,
    cwd,
    pid: 1,
    stdin,
    stdout,
    stderr,
    onStop: () => {},
    onReload: () => {},
  })
  return { code, stdout: await collected(stdout), stderr: await collected(stderr) }
}

function collected(stream: PassThrough & Writable): Promise<string> {
  stream.end()
  return text(stream)
}
