/**
 * `npm run dashboards`: pictures of the dashboards in docs/, of real numbers. Starts a gateway over three stores, with a Redis
 * and a Prometheus of its own, lets agents work with it for two minutes while things go wrong, and draws what Prometheus then says.
 * Needs the Debian packages prometheus, redis-server and chromium.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bootstrap } from './bootstrap.mjs'
import { readBoard } from './dashboards/board.js'
import { photograph } from './dashboards/browser.js'
import { figuresOf } from './dashboards/figures.js'
import { Load } from './dashboards/load.js'
import { pageOf } from './dashboards/page.js'
import { Prometheus, type Range } from './dashboards/prometheus.js'
import { startWorld, type World } from './dashboards/world.js'

const BOARDS = ['overview', 'upstreams', 'usage'] as const
const SECONDS = 120

bootstrap()
const world = await startWorld()
try {
  await happen(world)
  const prometheus = new Prometheus(world.prometheus)
  const end = Math.floor(Date.now() / 1000) - 1
  const range = { start: end - SECONDS, end, step: 1 }
  for (const name of BOARDS) await draw(name, prometheus, range)
} finally {
  await world.close()
}

/** Two minutes: one store ends and comes back, Redis hangs for a while, and agents go over their limits all along. */
async function happen({ gateway, episodes, redis, token }: World): Promise<void> {
  const load = new Load(`${gateway}/`, token)
  load.start()
  await pause(50_000)
  await episodes.stop('SIGKILL')
  await pause(15_000)
  await episodes.start()
  await pause(20_000)
  redis.pause()
  await pause(8_000)
  redis.resume()
  await pause(32_000)
  await load.stop()
}

async function draw(name: string, prometheus: Prometheus, range: Range): Promise<void> {
  const board = readBoard(place(`dashboards/${name}.json`))
  const figures = await Promise.all(
    board.panels.map((panel) => figuresOf(panel, prometheus, range)),
  )
  const picture = place(`docs/dashboard-${name}.png`)
  const page = pageOf(board, figures, range)
  const bytes = photograph(page, picture)
  for (const title of page.empty) process.stderr.write(`nothing to show: ${title}\n`)
  process.stderr.write(`docs/dashboard-${name}.png: ${Math.round(bytes / 1024)} KiB\n`)
}

function place(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url))
}
