import { join } from 'node:path'
import { CLI, type Place, startGateway } from '../harness/gateway.js'
import type { Running } from '../harness/processes.js'

/** One store of a federation, on disk, reached in one of the three ways. */
interface Part {
  readonly tier: string
  readonly path: string
  readonly way: 'http' | 'stdio' | 'in process'
}

const WAYS: readonly Part['way'][] = ['http', 'stdio', 'in process']

/** What is tried out of the gateway's settings for recall. */
export interface Tuning {
  readonly lexical: number
  readonly window: number
  readonly k: number
}

/** Stores that hold one tier each, over HTTP, as a child on stdio and in the gateway's own process in turn. */
export class Stores {
  readonly #place: Place
  readonly #parts: readonly Part[]
  #served: readonly Running[] = []

  constructor(place: Place, count: number) {
    const folder = place.scratch.folder()
    this.#place = place
    this.#parts = Array.from({ length: count }, (_, index) => ({
      tier: tierName(index),
      path: join(folder, `${tierName(index)}.db`),
      way: WAYS[index % WAYS.length] ?? 'http',
    }))
  }

  /** Starts those that are servers of their own. */
  async open(): Promise<void> {
    const remote = this.#parts.filter(({ way }) => way === 'http')
    this.#served = await Promise.all(remote.map((part) => startStore(this.#place, part)))
  }

  /** Starts a gateway over them that has learnt nothing yet. */
  gateway({ lexical, window, k }: Tuning): Promise<Running> {
    return startGateway(this.#place, {
      log: { calls: false },
      upstreams: Object.fromEntries(this.#parts.map((part) => [part.tier, this.#connect(part)])),
      tiers: Object.fromEntries(this.#parts.map(({ tier }) => [tier, { upstream: tier }])),
      recall: { window, k, voters: { lexical } },
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.#served.map((server) => server.stop()))
  }

  #connect(part: Part): object {
    const { way, path, tier } = part
    const timeout = '20s'
    if (way === 'in process') return { store: 'sqlite', path, timeout }
    if (way === 'stdio') {
      return { command: [process.execPath, CLI, ...storeArgs(tier, path), '--stdio'], timeout }
    }
    const remote = this.#parts.filter((other) => other.way === 'http')
    return { url: this.#served[remote.indexOf(part)]?.urls[0], timeout }
  }
}

export function tierName(index: number): string {
  return `part${index + 1}`
}

/** Starts one store as a server of its own. */
export function startStore(
  { processes }: Place,
  { tier, path }: Pick<Part, 'tier' | 'path'>,
): Promise<Running> {
  return processes.start({ args: [CLI, ...storeArgs(tier, path), '--http', '0'] })
}

function storeArgs(tier: string, path: string): string[] {
  return ['store', '--path', path, '--tiers', tier]
}
