import { type Command, Option } from 'commander'
import { toCsv } from '../metering/csv.js'
import { DIMENSIONS } from '../metering/query.js'
import { type ConfigOptions, readConfig, withConfigOption } from './config-file.js'
import { Failure } from './failure.js'
import { coloursFor, say, type Terminal } from './terminal.js'
import { fromConfig, fromGateway, type Told, type UsageSource } from './usage-source.js'
import { usageTable } from './usage-table.js'
import { seconds } from './values.js'

/** What narrows a question; each may be given several times. */
const FILTERS = ['caller', 'owner', 'method', 'tier', 'upstream', 'outcome'] as const

interface UsageOptions extends ConfigOptions, Partial<Record<(typeof FILTERS)[number], string[]>> {
  readonly url?: string
  readonly by?: string
  readonly from?: string
  readonly to?: string
  readonly limit?: string
  readonly stock?: true
  readonly csv?: true
  readonly json?: true
  readonly watch?: number | true
}

const EXAMPLES = `
Asks the gateway of the configuration where it runs, and reads its ledger where it does not. A call that touched two tiers or
upstreams stands in the line of each; the total counts it once.

Examples:
  $ a2m-gateway usage                                        the last 30 days by caller
  $ a2m-gateway usage --by owner,tier --from 2026-03 --to 2026-04
  $ a2m-gateway usage --by hour --caller agent-a --from 24h
  $ a2m-gateway usage --by upstream                          asks, attempts, failures
  $ a2m-gateway usage --stock                                what owners have, and tier-hours
  $ a2m-gateway usage --by day,owner --csv > usage.csv
  $ a2m-gateway usage --url http://127.0.0.1:8788/ --watch

Exit codes: 0 well, 1 no gateway and no ledger, 2 the question or the configuration is wrong.
`

/** `usage`: who used what, as a table, CSV or JSON. */
export function addUsage(program: Command, terminal: Terminal): void {
  const command = withConfigOption(
    program.command('usage').description('print who used what: calls, records, characters, tokens'),
  )
    .option('--url <url>', 'the admin listener of a running gateway, instead of a configuration')
    .option('--by <names>', `any of ${DIMENSIONS.join(',')}; caller without it`)
    .option('--from <time>', 'such as 2026-03, 2026-03-01 or, back from now, 24h or 30d')
    .option('--to <time>', 'the first moment that is left out; now without it')
    .option('--limit <lines>', 'the most lines')
    .option('--stock', 'what owners have in their tiers, and tier-hours')
    .option('--csv', 'print CSV')
    .option('--json', 'print one JSON object')
    .addOption(new Option('--watch [seconds]', 'print it anew again and again').argParser(seconds))
  for (const name of FILTERS)
    command.option(`--${name} <name>`, `only this ${name}; may be repeated`, also)
  command.addHelpText('after', EXAMPLES).action((options: UsageOptions) => usage(options, terminal))
}

function also(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

async function usage(options: UsageOptions, terminal: Terminal): Promise<void> {
  const source = await sourceOf(options, terminal)
  try {
    if (source.note !== undefined) say(terminal.stderr, source.note)
    if (options.watch === undefined) print(await source.ask(paramsOf(options)), options, terminal)
    else await watch(source, options, terminal)
  } finally {
    await source.close()
  }
}

async function sourceOf(options: UsageOptions, terminal: Terminal): Promise<UsageSource> {
  const what = options.stock ? 'stock' : 'usage'
  if (options.url !== undefined) return fromGateway(urlOf(options.url), what)
  return fromConfig(await readConfig(options, terminal), what)
}

function urlOf(written: string): URL {
  const url = URL.canParse(written) ? new URL(written) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return new URL('/', url)
  throw new Failure(2, 'the URL must begin with http:// or https://')
}

function paramsOf(options: UsageOptions): URLSearchParams {
  const params = new URLSearchParams()
  for (const name of ['by', 'from', 'to', 'limit'] as const) {
    const value = options[name]
    if (value !== undefined) params.set(name, value)
  }
  for (const name of FILTERS) {
    for (const value of options[name] ?? []) params.append(name, value)
  }
  return params
}

function print(told: Told, options: UsageOptions, { stdout, env }: Terminal): number {
  if (options.csv) {
    stdout.write(toCsv(told.lines))
    return 0
  }
  const lines = options.json ? [JSON.stringify(told)] : usageTable(told, coloursFor(stdout, env))
  say(stdout, ...lines)
  return lines.length
}

const WATCH_MS = 2000

/** On a terminal each takes the place of the one before. */
async function watch(
  source: UsageSource,
  options: UsageOptions,
  terminal: Terminal,
): Promise<void> {
  const { stdout } = terminal
  const inPlace = 'isTTY' in stdout && stdout.isTTY === true
  const pause = options.watch === true || options.watch === undefined ? WATCH_MS : options.watch
  let stopped = false
  let stop = () => {}
  const stopping = new Promise<void>((resolve) => {
    stop = resolve
  })
  terminal.onStop(() => {
    stopped = true
    stop()
  })
  let lines = 0
  while (!stopped) {
    const told = await source.ask(paramsOf(options))
    if (inPlace && lines > 0) stdout.write(`\u001b[${lines}A\u001b[J`)
    lines = print(told, options, terminal)
    await Promise.race([stopping, new Promise((resolve) => setTimeout(resolve, pause))])
  }
}
