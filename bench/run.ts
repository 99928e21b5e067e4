/**
 * What the gateway costs, each figure against another of the same run:
 *
 *     npm run bench [-- --only a,e] [--quick] [--profiles DIR]
 *
 * Starts everything on free ports of this machine and ends it again. Needs a build that is up to date and makes it.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { Scratch } from './harness/gateway.js'
import { Processes } from './harness/processes.js'
import { heap, micro, startUp } from './speed/alone-rows.js'
import type { Bench } from './speed/bench.js'
import { type FigureLine, printFigures, printRates, type RateLine } from './speed/lines.js'
import { freshTexts, guardedEdge, oneUpstream, threeUpstreams } from './speed/serving-rows.js'

const FULL = { warm: 5000, rounds: 5, round: 1200 }
const QUICK = { warm: 1500, rounds: 3, round: 700 }

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'a,b,c,d,e,f,g,h' },
    quick: { type: 'boolean', default: false },
    profiles: { type: 'string' },
  },
})
const wanted = new Set(values.only.split(','))
const wants = (...rows: readonly string[]): boolean => rows.some((row) => wanted.has(row))
const progress = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

async function run(bench: Bench): Promise<void> {
  const rates: RateLine[] = []
  const figures: FigureLine[] = []
  if (wants('a', 'd')) {
    progress('a, d: one upstream')
    const { rates: one, added } = await oneUpstream(bench)
    rates.push(...one)
    figures.push(...added)
  }
  if (wants('b')) {
    progress('b: three upstreams')
    rates.push(...(await threeUpstreams(bench)))
  }
  if (wants('c')) {
    progress('c: new texts')
    rates.push(...(await freshTexts(bench)))
  }
  if (wants('h')) {
    progress('h: callers, roles, limits and metering')
    rates.push(...(await guardedEdge(bench)))
  }
  const alone = { e: micro, f: heap, g: startUp }
  for (const [row, measure] of Object.entries(alone)) {
    if (!wants(row)) continue
    progress(row)
    figures.push(...(await measure(bench)))
  }
  process.stdout.write(`\n${printRates(rates)}\n${printFigures(figures)}`)
}

execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 2, 2] })
const processes = new Processes()
const load = processes.fork(new URL('./speed/load.ts', import.meta.url))
const began = performance.now()
try {
  const place = { processes, scratch: new Scratch(), profiles: values.profiles }
  await run({ place, load, pace: values.quick ? QUICK : FULL })
  progress(`${((performance.now() - began) / 1000).toFixed(0)} s in all`)
} finally {
  await processes.stopAll()
}
