import type { UsageAnswer } from '../../src/metering/answer.js'
import { run } from './gateway-process.js'
import type { Gateway } from './gateway-under-test.js'

/** What `/usage` of a running gateway answers. */
export async function usageAt(gateway: Gateway, query = ''): Promise<UsageAnswer> {
  const response = await fetch(new URL(`/usage?${query}`, gateway.admin))
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  return (await response.json()) as UsageAnswer
}

export async function callsAt(gateway: Gateway, query = ''): Promise<number> {
  return (await usageAt(gateway, query)).totals['calls'] ?? 0
}

/** What the command tells of a ledger that no gateway has open. */
export async function usageIn(folder: string, ...args: string[]): Promise<UsageAnswer> {
  const command = ['usage', '--config', 'gateway.yaml', '--json', ...args]
  const { code, stdout, stderr } = await run(command, { cwd: folder })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as UsageAnswer
}

/** Calls of several callers at once, until the gateway is gone or the load is ended. */
export class Load {
  sent = 0
  answered = 0
  #ended = false
  readonly #over: Promise<unknown>

  constructor(gateway: Gateway, callers: number) {
    this.#over = Promise.all(Array.from({ length: callers }, () => this.#go(gateway)))
  }

  /** Lets every call that is under way come to its end. */
  async end(): Promise<void> {
    this.#ended = true
    await this.#over
  }

  async #go(gateway: Gateway): Promise<void> {
    while (!this.#ended) {
      const turn = ++this.sent
      try {
        if (turn % 4 === 0) await gateway.remember({ content: `record ${turn}` })
        else await gateway.call('memory/recall', { query: 'record', limit: 2 })
      } catch {
        return
      }
      this.answered++
    }
  }
}
