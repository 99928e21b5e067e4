import { createHash } from 'node:crypto'
import { checkResult } from '../../src/protocol/checks.js'
import type { Method, ResultOf } from '../../src/protocol/methods.js'
import { readReply } from '../../src/protocol/rpc.js'
import { ADMIN, emptyFolder, fileIn, LISTENING, Program } from './gateway-process.js'
import { until } from './waiting.js'

/** A configuration, as its file would say it. */
export type ConfigFile = Readonly<Record<string, unknown>>

export interface Setup {
  /** A folder that outlives the gateway; a fresh one unless given. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Calling {
  /** The caller's API key. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** The JSON-RPC id; 1 unless given. */
  readonly id?: number
}

/** Starts the built gateway in a process of its own; it ends with the test. Ports are free ones, and its log is silent. */
export async function startGateway(config: ConfigFile, setup: Setup = {}): Promise<Gateway> {
  const { cwd = emptyFolder(), env = {} } = setup
  const program = new Program(['serve', '--config', configIn(cwd, config)], { cwd, env })
  const url = await program.told(LISTENING)
  return new Gateway(program, url, await program.told(ADMIN))
}

/** Writes a configuration into a folder, ports and log filled in, and returns the file's name. */
export function configIn(folder: string, config: ConfigFile): string {
  const quiet = { listen: { port: 0 }, admin: { port: 0 }, log: { level: 'silent' } }
  return fileIn(folder, 'gateway.yaml', JSON.stringify({ ...quiet, ...config }))
}

/** The entry of a configuration for a key that tests know in clear. */
export function keyEntry(name: string, owner = name, roles: readonly string[] = []): object {
  return { name, owner, roles, sha256: sha256(keyOf(name)) }
}

export function keyOf(name: string): string {
  return `key-of-${name}-0123456789`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** A gateway that runs. */
export class Gateway {
  readonly program: Program
  readonly url: string
  readonly admin: string

  constructor(program: Program, url: string, admin: string) {
    this.program = program
    this.url = url
    this.admin = admin
  }

  post(body: string, { key, headers, signal }: Calling = {}): Promise<Response> {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
    return fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization, ...headers },
      body,
      ...(signal === undefined ? {} : { signal }),
    })
  }

  /** A result, checked against the specification's shape; rejects with the `A2mError` that was answered. */
  async call<M extends Method>(
    method: M,
    params: object = {},
    calling: Calling = {},
  ): Promise<ResultOf<M>> {
    const { id = 1 } = calling
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const response = await this.post(body, calling)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`answered with ${response.status}: ${text}`)
    const reply = readReply(text)
    if ('error' in reply) throw reply.error
    if ('notification' in reply || reply.id !== id) throw new Error(`no reply to ${id}: ${text}`)
    return checkResult(method, reply.result)
  }

  /** Writes one record and tells its id. */
  async remember(entry: object, calling: Calling = {}): Promise<string> {
    const { ids } = await this.call('memory/remember', { records: [entry] }, calling)
    return ids[0] ?? ''
  }

  async contentsOf(params: object = {}, calling: Calling = {}): Promise<string[]> {
    const { records } = await this.call('memory/timeline', { limit: 0, ...params }, calling)
    return records.map(({ content }) => content)
  }

  async metrics(): Promise<string> {
    return (await fetch(new URL('/metrics', this.admin))).text()
  }

  /** The value of one series of the metrics, 0 where there is none. */
  async metric(series: string): Promise<number> {
    const line = (await this.metrics()).split('\n').find((one) => one.startsWith(`${series} `))
    return Number(line?.slice(series.length + 1) ?? 0)
  }

  /** What the operators' listener says of one upstream. */
  async upstream(name: string): Promise<UpstreamState> {
    const response = await fetch(new URL('/upstreams', this.admin))
    const all = (await response.json()) as UpstreamState[]
    const found = all.find((one) => one.name === name)
    if (found === undefined) throw new Error(`no upstream ${name}`)
    return found
  }

  /** Resolves when these upstreams have described themselves. */
  async up(...names: string[]): Promise<void> {
    for (const name of names) await until(async () => (await this.upstream(name)).state === 'up')
  }

  /** Ends it as an operator would, and tells its exit code. */
  async stop(): Promise<number | null> {
    this.program.child.kill('SIGTERM')
    return (await this.program.ended()).code
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    this.program.child.kill('SIGKILL')
    await this.program.ended()
  }
}

interface UpstreamState {
  readonly name: string
  readonly state: string
  readonly breaker: string
  readonly reason?: string
}
