import type { Command } from 'commander'
import { Cancellation } from '../protocol/cancellation.js'
import { printReport, problems, reportJson } from './check-report.js'
import { type ConfigOptions, readConfig, withConfigOption } from './config-file.js'
import { Failure } from './failure.js'
import { isWell, printProbe, probeJson, verdict } from './probe-report.js'
import { depsToLook } from './system.js'
import { coloursFor, say, type Terminal } from './terminal.js'

interface CheckOptions extends ConfigOptions {
  readonly json?: true
  /** The upstream to try. */
  readonly probe?: string
}

const EXAMPLES = `
--probe writes a few marked records to one upstream, tries each capability that it declares, prints what is untrue, and removes
the records again, on Ctrl-C too. They belong to an owner of their own where the upstream keeps owners apart. What could do harm
is left alone: consolidate, a forget or summary of everything, the first vector of a store, and anything that asks a model.

Exit codes: 0 all is well, 1 something is wrong, 2 the configuration is.

Examples:
  $ a2m-gateway check --config gateway.yaml
  $ a2m-gateway check --config gateway.yaml --json | jq .withheld
  $ a2m-gateway check --config gateway.yaml --probe facts
  $ a2m-gateway check --config gateway.yaml --probe trial/facts    an upstream of federations.trial
`

/** `check`: reads the configuration, asks every upstream, and says what would be declared and why not more. */
export function addCheck(program: Command, terminal: Terminal): void {
  withConfigOption(
    program
      .command('check')
      .description(
        'ask every upstream, and print what would be declared and what takes the rest away',
      ),
  )
    .option('--json', 'print one JSON object')
    .option('--probe <upstream>', 'try what this upstream declares, and print what is untrue')
    .addHelpText('after', EXAMPLES)
    .action((options: CheckOptions) =>
      options.probe === undefined
        ? check(options, terminal)
        : probe({ ...options, probe: options.probe }, terminal),
    )
}

async function check(options: CheckOptions, terminal: Terminal): Promise<void> {
  const { stdout, env } = terminal
  const config = await readConfig(options, terminal)
  const { openApp } = await import('../app/gateway.js')
  const app = await openApp(config, depsToLook(config, terminal))
  try {
    const report = await app.report()
    if (options.json) say(stdout, reportJson(report))
    else say(stdout, ...printReport(report, coloursFor(stdout, env)))
    const count = problems(report).length
    if (count > 0)
      throw new Failure(1, count === 1 ? 'one thing is wrong' : `${count} things are wrong`)
  } finally {
    await app.close()
  }
}

async function probe(
  options: CheckOptions & { readonly probe: string },
  terminal: Terminal,
): Promise<void> {
  const { stdout, env } = terminal
  const config = await readConfig(options, terminal)
  const { probeUpstream } = await import('../app/probe.js')
  const stop = new Cancellation()
  terminal.onStop(() => stop.cancel())
  const deps = depsToLook(config, terminal)
  const report = await probeUpstream({ config, upstream: options.probe, deps, stop })
  if (options.json) say(stdout, probeJson(report))
  else say(stdout, ...printProbe(report, coloursFor(stdout, env)))
  if (!isWell(report)) throw new Failure(1, verdict(report))
}
