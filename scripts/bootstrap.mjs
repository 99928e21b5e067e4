/**
 * Brings a checkout to where it can run: installs the locked dependencies and builds, each only where that is missing or out
 * of date. Needs nothing but Node and npm.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** What a build that went well writes last; a failed one leaves files too. */
const BUILT = 'dist/.built'

export function bootstrap() {
  if (isOlder('node_modules/.package-lock.json', ['package-lock.json'])) {
    run('npm', ['ci', '--include=dev'])
  }
  const sources = ['src', 'package-lock.json', 'tsconfig.json', 'scripts/build.mjs']
  if (isOlder(BUILT, sources)) run('npm', ['run', '--silent', 'build'])
}

/** Ends this process with the exit code of the command where that is not 0. What it prints goes to stderr. */
function run(command, args) {
  process.stderr.write(`${command} ${args.join(' ')}\n`)
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (error) process.stderr.write(`${command}: ${error.message}\n`)
  if (status !== 0) process.exit(status ?? 1)
}

function isOlder(made, sources) {
  const time = modified(made)
  return sources.some((source) => newest(join(ROOT, source)) > time)
}

function modified(path) {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function newest(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}
