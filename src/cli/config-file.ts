import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { ConfigError } from '../config/errors.js'
import { defaultConfig, loadConfig, type Source } from '../config/load.js'
import type { Terminal } from './terminal.js'

/** What the command line says of the configuration. */
export interface ConfigOptions {
  readonly config?: string
  readonly host?: string
  readonly port?: number
}

export function withConfigOption(command: Command): Command {
  return command.option(
    '-c, --config <file>',
    'YAML configuration; embedded stores in ./data without one',
  )
}

/** Reads the configuration that the command line names, or makes the default one. Throws `ConfigError`. */
export async function readConfig(options: ConfigOptions, { env, cwd }: Terminal): Promise<Config> {
  const listen: Source['listen'] = { host: options.host, port: options.port }
  if (options.config === undefined) return defaultConfig(cwd, listen)
  const file = options.config
  const text = await readText(file)
  return loadConfig({ text, file, env, cwd, listen })
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
    throw new ConfigError([], READING[code] ?? `cannot be read (${code})`, file)
  }
}

const READING: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'cannot be read by this user',
  EISDIR: 'is a folder, not a file',
}
