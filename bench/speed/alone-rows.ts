import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { AUTH, CLI, writeConfig } from '../harness/gateway.js'
import { converse, type Running } from '../harness/processes.js'
import { median, summary } from '../harness/statistics.js'
import { type Bench, configOf, startUpstreams, stopAll } from './bench.js'
import type { FigureLine } from './lines.js'
import type { MicroResult } from './micro.js'
import { send } from './rounds.js'

/** Row e: fusion and the voter without a network. */
export async function micro({ place }: Bench): Promise<readonly FigureLine[]> {
  const child = place.processes.forkBuilt(await builtMicro(place.scratch.folder()))
  const { fusion, voter } = (await converse(child, {})) as MicroResult
  child.kill()
  const to = 'JSON.parse of the same records'
  const lines = [
    { what: 'fusion of 32 lists of 1,000', times: fusion.times, parse: fusion.parse, most: 40 },
    {
      what: 'voter, 60 new texts of 1,000 characters',
      times: voter.cold,
      parse: voter.parse,
      most: 4,
    },
    { what: 'voter, the same texts again', times: voter.cached, parse: voter.parse, most: 0.5 },
  ]
  return lines.map(({ what, times, parse, most }) => ({
    ...figure('e', what, times, 'ms'),
    ratio: (median(times) / median(parse)).toFixed(2),
    to: `${to} (${median(parse).toFixed(2)} ms)`,
    target: { text: `< ${most} ms`, met: median(times) < most },
  }))
}

/** Built, since what reads TypeScript as it stands puts something of its own around every function. */
async function builtMicro(folder: string): Promise<string> {
  const file = join(folder, 'micro.mjs')
  const input = fileURLToPath(new URL('./micro.ts', import.meta.url))
  await build({ input, platform: 'node', output: { file, format: 'esm' } })
  return file
}

function figure(row: string, what: string, values: readonly number[], unit: string) {
  const { median: middle, least, most } = summary(values)
  return {
    row,
    what,
    value: `${middle.toFixed(2)} ${unit}`,
    spread: `${least.toFixed(2)} - ${most.toFixed(2)}`,
  }
}

/** Enough to fill every bounded cache: the terms of 20,000 texts, at 12 a recall. */
const FILLING = 2_500
const RECALLS = 10_000
const ALLOWED_GROWTH = 1.1

/** Row f: what the heap holds after many recalls of texts that were never there before, to what it held before them. */
export async function heap(bench: Bench): Promise<readonly FigureLine[]> {
  const { place } = bench
  const upstreams = await startUpstreams(bench, { count: 3, texts: 'fresh' })
  const options = { upstreams: upstreams.urls, lexical: 1, window: 4 }
  const file = writeConfig(place.scratch.folder(), configOf(options))
  const probe = fileURLToPath(new URL('./heap-probe.mjs', import.meta.url))
  const args = ['--expose-gc', '--import', probe, CLI, 'serve', '--config', file]
  const gateway = await place.processes.start({ args, channel: 'ipc' })
  await recallOften(bench, gateway, FILLING)
  const before = await heapOf(gateway)
  await recallOften(bench, gateway, RECALLS)
  const after = await heapOf(gateway)
  await stopAll([gateway, upstreams])
  const growth = after / before
  return [
    {
      row: 'f',
      what: `heap after ${RECALLS} recalls of new texts`,
      value: `${mebibytes(after)} MiB`,
      spread: '',
      ratio: growth.toFixed(3),
      to: `the heap before them (${mebibytes(before)} MiB)`,
      target: { text: `<= ${ALLOWED_GROWTH.toFixed(2)}`, met: growth <= ALLOWED_GROWTH },
    },
  ]
}

async function recallOften({ load }: Bench, { urls }: Running, requests: number): Promise<void> {
  const order = { url: urls[0] ?? '', connections: 16, limit: 4, until: { requests } }
  await send(load, order)
}

async function heapOf({ child }: Running): Promise<number> {
  return Number(await converse(child, {}))
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}

const STARTS = 7
const READY_WITHIN = 1000

/** Row g: from the start of the process on an empty folder until it says that it is ready, stores and all. */
export async function startUp({ place }: Bench): Promise<readonly FigureLine[]> {
  const ready: number[] = []
  const bare: number[] = []
  for (let turn = 0; turn < STARTS; turn++) {
    const folder = place.scratch.folder()
    bare.push(await timed(place.processes.runToEnd(['--eval', '0'])))
    const file = writeConfig(folder, { auth: AUTH })
    const start = performance.now()
    const gateway = await place.processes.start({ args: [CLI, 'serve', '--config', file] })
    await readiness(gateway)
    ready.push(performance.now() - start)
    await gateway.stop()
  }
  const ratio = (median(ready) / median(bare)).toFixed(1)
  return [
    {
      ...figure('g', 'ready on an empty folder, three built-in stores', ready, 'ms'),
      ratio,
      to: `node with nothing to do (${median(bare).toFixed(0)} ms)`,
      target: { text: `< ${READY_WITHIN} ms`, met: summary(ready).most < READY_WITHIN },
    },
  ]
}

async function timed(work: Promise<void>): Promise<number> {
  const start = performance.now()
  await work
  return performance.now() - start
}

async function readiness({ urls }: Running): Promise<void> {
  const url = new URL('/health/ready', urls[0])
  while ((await fetch(url)).status !== 200) await new Promise(setImmediate)
}
