import { setTimeout as pause } from 'node:timers/promises'
import { type Agent, keyOf, TOKEN_HOLDER } from './world.js'

const TOPICS = [
  'invoices',
  'deploys',
  'the garden',
  'tickets',
  'onboarding',
  'the roadmap',
  'tests',
]
const DOINGS = ['are due on Friday', 'failed at night', 'need a second look', 'went well', 'moved']
const WHO = ['Ana', 'Bo', 'Chidi', 'Dana', 'Emre', 'Fay']

/** Agents that work with the gateway at the same time, each at its own pace, until they are told to stop. */
export class Load {
  readonly #url: string
  readonly #token: () => Promise<string>
  readonly #tasks: Promise<void>[] = []
  #stopped = false
  #count = 0

  /** `token` is what the agent without a key shows. */
  constructor(url: string, token: () => Promise<string>) {
    this.#url = url
    this.#token = token
  }

  start(): void {
    for (let n = 0; n < 2; n++) this.#repeat(300, () => this.#converse('planner'))
    for (let n = 0; n < 2; n++) this.#repeat(180, () => this.#research('researcher'))
    for (let n = 0; n < 2; n++) this.#repeat(250, () => this.#support())
    this.#repeat(1500, () => this.#burst())
    this.#repeat(900, () => this.#importBatch())
    this.#repeat(400, () => this.#audit())
    this.#repeat(300, () => this.#strangers())
    this.#repeat(2500, () => this.#tidy())
    this.#repeat(400, () => this.#old())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#tasks)
  }

  /** Again and again, with a pause of about so many ms in between. */
  #repeat(about: number, task: () => Promise<unknown>): void {
    const run = async (): Promise<void> => {
      while (!this.#stopped) {
        await task().catch(() => {})
        await pause(about * (0.5 + Math.random()))
      }
    }
    this.#tasks.push(run())
  }

  /** The result; undefined for an error, which is what some of this is after. */
  async #call(
    agent: Agent | typeof TOKEN_HOLDER,
    method: string,
    params: object,
    more: Sending = {},
  ): Promise<Result> {
    const credential = agent === TOKEN_HOLDER ? await this.#token() : keyOf(agent)
    const { headers, signal } = more
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${credential}`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: `memory/${method}`, params }),
      ...(signal && { signal }),
    })
    const { result } = (await response.json()) as { result?: Result }
    return result ?? {}
  }

  #sentence(): string {
    const n = this.#count++
    return `${pick(WHO)} says that ${pick(TOPICS)} ${pick(DOINGS)} (note ${n}).`
  }

  async #converse(agent: Agent): Promise<void> {
    await this.#call(agent, 'recall', { query: this.#sentence(), limit: 5 })
    const records = [{ content: this.#sentence(), session: 's1' }, { content: this.#sentence() }]
    await this.#call(agent, 'remember', { records })
  }

  async #research(agent: Agent): Promise<void> {
    await this.#call(agent, 'recall', { query: `${pick(WHO)} ${pick(TOPICS)}`, prompt: true })
    if (Math.random() < 0.3) {
      const content = this.#sentence()
      await this.#call(agent, 'remember', { records: [{ content, tier: 'semantic' }] })
    }
    if (Math.random() < 0.2) await this.#call(agent, 'timeline', { limit: 20 })
  }

  async #support(): Promise<void> {
    const session = `ticket-${this.#count++}`
    const records = [0, 1, 2].map(() => ({ content: this.#sentence(), session }))
    await this.#call('support', 'remember', { records, session })
    await this.#call('support', 'recall', { query: pick(TOPICS), where: { session } })
    await this.#call('support', 'session/close', { session })
    const key = `customers/${pick(WHO)}`
    await this.#call('support', 'remember', { records: [{ key, content: this.#sentence() }] })
    await this.#call('support', 'fetch', { key })
  }

  /** Many at once, more than a limit lets through; some do not wait for the reply. */
  async #burst(): Promise<void> {
    const calls = Array.from({ length: 30 }, (_, n) => {
      const signal = n % 15 === 0 ? { signal: AbortSignal.timeout(3) } : {}
      return this.#call('coder', 'recall', { query: pick(TOPICS) }, signal)
    })
    await Promise.allSettled(calls)
    await this.#call('coder', 'remember', { records: [{ content: this.#sentence() }] })
  }

  async #importBatch(): Promise<void> {
    const records = Array.from({ length: 40 }, () => ({
      content: this.#sentence(),
      tier: 'episodic',
    }))
    await this.#call('importer', 'remember', { records })
  }

  async #audit(): Promise<void> {
    await this.#call('auditor', 'timeline', { limit: 10, owner: 'support' })
    await this.#call('auditor', 'events', { limit: 5 })
    await this.#call('auditor', 'session/list', { owner: 'planner' })
    if (Math.random() < 0.3) await this.#call('auditor', 'forget', { ids: ['x'] })
  }

  async #strangers(): Promise<void> {
    const headers = { authorization: 'Bearer a-key-that-was-taken-back' }
    await this.#call('coder', 'recall', {}, { headers }).catch(() => {})
    await this.#call('coder', 'recall', { query: 'anything', owner: 'planner' })
    await this.#call('coder', 'recall', { limit: 'many' })
  }

  async #tidy(): Promise<void> {
    const { records = [] } = await this.#call('researcher', 'recall', {
      query: pick(TOPICS),
      limit: 8,
    })
    const ids = records.map(({ id }) => id)
    await this.#call('researcher', 'reinforce', { ids: ids.slice(0, 4) })
    await this.#call('researcher', 'promote', { ids: ids.slice(0, 2), tier: 'semantic' })
    await this.#call('researcher', 'forget', { ids: ids.slice(6) })
    await this.#call('planner', 'consolidate', {})
    await this.#call('planner', 'summarize', { query: pick(TOPICS), limit: 30 })
    await this.#call('planner', 'describe', {})
  }

  async #old(): Promise<void> {
    const version = Math.random() < 0.9 ? 'a2m/0.0' : 'a2m/9.9'
    const headers = { 'a2m-protocol-version': version }
    await this.#call('support', 'recall', { query: pick(TOPICS) }, { headers })
  }
}

interface Sending {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

interface Result {
  readonly records?: readonly { readonly id: string }[]
}

function pick<T>(from: readonly T[]): T {
  const found = from[Math.floor(Math.random() * from.length)]
  if (found === undefined) throw new RangeError('nothing to pick from')
  return found
}
