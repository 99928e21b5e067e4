import type { ChildProcess } from 'node:child_process'
import { cpuMicros } from '../harness/cpu.js'
import { KEY } from '../harness/gateway.js'
import { converse, type Running } from '../harness/processes.js'
import type { LoadOrder, LoadResult } from './load.js'

/** One of the servers that are measured in turns. */
export interface Side {
  readonly name: string
  readonly server: Running
  readonly limit: number
}

export interface Course {
  readonly load: ChildProcess
  readonly connections: number
  /** Each side is called for so long before anything counts, in ms. */
  readonly warm: number
  readonly rounds: number
  /** Of one round of one side, in ms. */
  readonly round: number
}

/** One side's rounds, in their order. */
export interface Measured {
  readonly name: string
  readonly perSecond: readonly number[]
  /** Processor time of the server a request, in µs. */
  readonly cpu: readonly number[]
  /** The part of one processor that the server had. */
  readonly busy: readonly number[]
  /** Median of each round, in µs. */
  readonly latency: readonly number[]
  /** Of a body, on average. */
  readonly bytes: number
}

interface Round extends LoadResult {
  readonly cpu: number
}

/** Warms every side, then measures all of them in turns, so that what disturbs the machine disturbs all. */
export async function measure(course: Course, sides: readonly Side[]): Promise<Measured[]> {
  for (const side of sides) await call(course, side, course.warm)
  const rounds: Round[][] = sides.map(() => [])
  for (let round = 0; round < course.rounds; round++) {
    for (const [index, side] of sides.entries()) {
      rounds[index]?.push(await call(course, side, course.round))
    }
  }
  return sides.map(({ name }, index) => measuredOf(name, rounds[index] ?? []))
}

async function call(course: Course, side: Side, ms: number): Promise<Round> {
  const { pid, urls } = side.server
  const { connections, load } = course
  const before = cpuMicros(pid)
  const result = await send(load, {
    url: urls[0] ?? '',
    connections,
    limit: side.limit,
    until: { ms },
  })
  return { ...result, cpu: cpuMicros(pid) - before }
}

/** Has the load carry out an order, with the key that all servers are asked with. Rejects where any call fails. */
export async function send(load: ChildProcess, order: Omit<LoadOrder, 'key'>): Promise<LoadResult> {
  const result = (await converse(load, { ...order, key: KEY })) as LoadResult
  const { failures, requests, failure } = result
  if (failures > 0) throw new Error(`${failures} of ${requests} calls failed:\n${failure}`)
  return result
}

function measuredOf(name: string, rounds: readonly Round[]): Measured {
  return {
    name,
    perSecond: rounds.map(({ requests, ms }) => (requests / ms) * 1000),
    cpu: rounds.map(({ requests, cpu }) => cpu / requests),
    busy: rounds.map(({ ms, cpu }) => cpu / (ms * 1000)),
    latency: rounds.map(({ latencies }) => latencies.p50),
    bytes: rounds.at(-1)?.bytes ?? 0,
  }
}
