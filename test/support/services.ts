import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { located, remedyFor } from '../../scripts/services.mjs'

/** A server of a test's own, in a folder of its own, reached over loopback alone. */
export interface Service {
  readonly url: string
  /** Kills it at once; what it kept on disk stays, what it kept in memory is gone. */
  stop(): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
  /** From here on it takes connections and answers nothing. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

/** When a service goes away: with the test, unless something like `afterAll` is given. */
type Closing = (close: () => Promise<void>) => void

/** An empty Redis that keeps nothing on disk. */
export async function startRedis(closing: Closing = onTestFinished): Promise<Service> {
  const program = find('redis-server')
  const folder = mkdtempSync(join(tmpdir(), 'a2m-redis-'))
  const port = await freePort()
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder]
  const server = new Server({
    command: [program, ...args, '--save', '', '--appendonly', 'no'],
    folder,
    port,
    ready: /Ready to accept connections/,
  })
  return server.launched(`redis://127.0.0.1:${port}/0`, closing)
}

/** An empty PostgreSQL cluster whose superuser needs no password. It does not wait for the disk, so that it is
 * fast; what was committed outlives a stop all the same. */
export async function startPostgres(closing: Closing = onTestFinished): Promise<Service> {
  const [initdb, postgres] = [find('initdb'), find('postgres')]
  const folder = mkdtempSync(join(tmpdir(), 'a2m-postgres-'))
  const user = unprivileged()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const cluster = ['-D', data, '--no-sync', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8']
  const made = spawnSync(initdb, [...cluster, '--locale=C'], { ...user, cwd: folder })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  const port = await freePort()
  const settings = ['fsync=off', 'full_page_writes=off']
  const args = ['-D', data, '-k', folder, '-h', '127.0.0.1', '-p', `${port}`]
  const server = new Server({
    command: [postgres, ...args, ...settings.flatMap((setting) => ['-c', setting])],
    folder,
    port,
    user,
    ready: /database system is ready to accept connections/,
    stopSignal: 'SIGQUIT',
  })
  return server.launched(`postgres://postgres@127.0.0.1:${port}/postgres`, closing)
}

interface User {
  readonly uid: number
  readonly gid: number
}

interface ServerOptions {
  readonly command: readonly [string, ...string[]]
  readonly folder: string
  readonly port: number
  /** What it says once it can be reached. */
  readonly ready: RegExp
  readonly user?: User | undefined
  readonly stopSignal?: NodeJS.Signals
}

class Server {
  readonly #options: ServerOptions
  #child: ChildProcess | undefined

  constructor(options: ServerOptions) {
    this.#options = options
  }

  async launched(url: string, closing: Closing): Promise<Service> {
    const killed = () => this.#kill()
    process.once('exit', killed)
    const close = async () => {
      process.off('exit', killed)
      await this.stop()
      rmSync(this.#options.folder, { recursive: true, force: true })
    }
    closing(close)
    await this.start()
    return {
      url,
      close,
      stop: () => this.stop(),
      start: () => this.start(),
      pause: () => void this.#child?.kill('SIGSTOP'),
      resume: () => void this.#child?.kill('SIGCONT'),
    }
  }

  async start(): Promise<void> {
    const { command, user, folder, ready } = this.#options
    const [program, ...args] = command
    const child = spawn(program, args, { ...user, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    let said = ''
    await new Promise<void>((resolve, reject) => {
      const hear = (text: unknown) => {
        said = `${said}${text}`.slice(-10_000)
        if (ready.test(said)) resolve()
      }
      child.stdout?.on('data', hear)
      child.stderr?.on('data', hear)
      child.once('error', reject)
      child.once('exit', () => reject(new Error(`${program} ended: ${said}`)))
    })
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    this.#kill()
    await gone
  }

  #kill(): void {
    this.#child?.kill(this.#options.stopSignal ?? 'SIGKILL')
    this.#child?.kill('SIGCONT')
  }
}

function find(program: string): string {
  const path = located(program)
  if (path === undefined) throw new Error(`${program} is not there: ${remedyFor(program)}`)
  return path
}

/** PostgreSQL refuses to run as root; Debian's package makes a user for it. */
function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const entry = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  if (entry === null) throw new Error(`there is no user postgres: ${remedyFor('postgres')}`)
  return { uid: Number(entry[1]), gid: Number(entry[2]) }
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
