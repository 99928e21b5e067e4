/**
 * The servers and tools that tests start for themselves: where they are on this machine, and how to install them where they
 * are not and Debian's packages can be had. No service of the system is started.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The package that a program comes in. `prometheus` is there for promtool alone. */
const PACKAGES = {
  'redis-server': 'redis-server',
  initdb: 'postgresql',
  postgres: 'postgresql',
  promtool: 'prometheus',
}

/** Installs the packages that are missing. Where that is not possible it says so and goes on: tests that need them fail. */
export function installServices() {
  const missing = missingPackages()
  if (missing.length === 0) return
  if (process.getuid?.() !== 0 || !onPath('apt-get')) {
    process.stderr.write(`tests will miss ${missing.join(', ')}: ${remedy(missing)}\n`)
    return
  }
  withoutStarting(() => {
    apt(['update'])
    if (!apt(['install', '--yes', '--no-install-recommends', ...missing])) {
      process.stderr.write(`could not install ${missing.join(', ')}: ${remedy(missing)}\n`)
    }
  })
}

/** Where a program is, in PATH or where Debian keeps those of PostgreSQL; undefined where it is not. */
export function located(program) {
  return onPath(program) ?? amongPostgres(program)
}

/** What to do about a program that is not there. */
export function remedyFor(program) {
  return remedy([PACKAGES[program] ?? program])
}

function missingPackages() {
  const programs = Object.keys(PACKAGES).filter((program) => located(program) === undefined)
  return [...new Set(programs.map((program) => PACKAGES[program]))]
}

function remedy(packages) {
  return `install with: apt-get update && apt-get install --yes ${packages.join(' ')}`
}

const USUAL = ['/usr/bin', '/usr/local/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']

/** Asking a shell costs as much as all the rest. */
function onPath(program) {
  const usual = USUAL.map((folder) => join(folder, program)).find((path) => existsSync(path))
  if (usual !== undefined) return usual
  const { stdout } = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program], { encoding: 'utf8' })
  return stdout?.trim() || undefined
}

const POSTGRES = '/usr/lib/postgresql'

function amongPostgres(program) {
  if (!existsSync(POSTGRES)) return undefined
  const versions = readdirSync(POSTGRES).sort((a, b) => Number(b) - Number(a))
  return versions
    .map((version) => join(POSTGRES, version, 'bin', program))
    .find((path) => existsSync(path))
}

function apt(args) {
  process.stderr.write(`apt-get ${args.join(' ')}\n`)
  const command = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args]
  return spawnSync('env', command, { stdio: ['ignore', 2, 2] }).status === 0
}

const POLICY = '/usr/sbin/policy-rc.d'

/** Debian asks this file whether what was installed may start; containers mostly have one that says no. */
function withoutStarting(install) {
  if (existsSync(POLICY)) return install()
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    install()
  } finally {
    rmSync(POLICY)
  }
}
