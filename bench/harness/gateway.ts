import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Processes, Running } from './processes.js'

/** The program as it is installed: built, not from source. */
export const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** The key that every call to a measured server carries, and whom it is for. */
export const KEY = 'bench-key-0123456789abcdef'
export const OWNER = 'bench'

/** The part of a configuration that asks callers for `KEY`. */
export const AUTH = {
  keys: [{ name: OWNER, owner: OWNER, sha256: createHash('sha256').update(KEY).digest('hex') }],
}

/** Folders that are gone when the run is. */
export class Scratch {
  readonly #folders: string[] = []

  constructor() {
    process.once('exit', () => {
      for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true })
    })
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'a2m-bench-'))
    this.#folders.push(folder)
    return folder
  }
}

/** Writes a configuration that listens on free ports of this machine alone. YAML takes JSON as it is. */
export function writeConfig(folder: string, config: object): string {
  const file = join(folder, 'gateway.yaml')
  const listen = { host: '127.0.0.1', port: 0 }
  const whole = { listen, admin: listen, data_dir: join(folder, 'data'), ...config }
  writeFileSync(file, JSON.stringify(whole))
  return file
}

/** Where and how a gateway is started. */
export interface Place {
  readonly processes: Processes
  readonly scratch: Scratch
  /** A folder for profiles of where gateways spend processor time (.cpuprofile, one a gateway). */
  readonly profiles?: string | undefined
}

/** Starts the gateway with `serve` and a configuration of its own. */
export function startGateway(place: Place, config: object): Promise<Running> {
  const { processes, scratch, profiles } = place
  const file = writeConfig(scratch.folder(), config)
  const profiling = profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profiles]
  return processes.start({ args: [...profiling, CLI, 'serve', '--config', file] })
}
