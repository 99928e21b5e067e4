#!/usr/bin/env node
import { run } from './program.js'
import { reloadOnSignal, stopOnSignals } from './signals.js'

const code = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  pid: process.pid,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  onStop: stopOnSignals(process),
  onReload: reloadOnSignal(process),
})
// What is still open, such as a connection kept alive, must not hold up the end.
process.exit(code)
