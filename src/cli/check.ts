import type { Command } from 'commander'
import { printReport, problems, reportJson } from './check-report.js'
import { type ConfigOptions, readConfig, withConfigOption } from './config-file.js'
import { Failure } from './failure.js'
import { depsToLook } from './system.js'
import { coloursFor, say, type Terminal } from './terminal.js'

interface CheckOptions extends ConfigOptions {
  readonly json?: true
}

const EXAMPLES = `
Exit codes: 0 all is well, 1 something is wrong, 2 the configuration is.

Examples:
  $ a2m-gateway check --config gateway.yaml
  $ a2m-gateway check --config gateway.yaml --json | jq .withheld
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
    .addHelpText('after', EXAMPLES)
    .action((options: CheckOptions) => check(options, terminal))
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
