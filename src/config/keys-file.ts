import { readFileSync } from 'node:fs'
import { type ApiKey, apiKey, toKey } from './api-key.js'
import { ConfigError } from './errors.js'
import { foremost } from './values.js'

/** Reads a file of keys: JSON Lines, an entry a line. Throws a `ConfigError` that names the file and the line of the fault. */
export function readKeysFile(path: string): readonly ApiKey[] {
  const lines = read(path).split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line, index) => readKey(line, { path, line: index + 1 }))
}

interface Line {
  readonly path: string
  readonly line: number
}

/** A fault of a file of keys; `line` counts from 1. */
export function keysFileError({ path, line }: Line, problem: string): ConfigError {
  return new ConfigError(['auth', 'keys_file'], `${path} line ${line}: ${problem}`)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown'
    throw new ConfigError(['auth', 'keys_file'], `${path} cannot be read (${code})`)
  }
}

function readKey(text: string, line: Line): ApiKey {
  const parsed = apiKey.safeParse(parse(text, line))
  if (parsed.success) return toKey(parsed.data)
  const issue = foremost(parsed.error.issues)
  const where = issue?.path.map(String).join('.') ?? ''
  throw keysFileError(line, [where, issue?.message ?? 'malformed'].filter(Boolean).join(': '))
}

function parse(text: string, line: Line): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw keysFileError(
      line,
      'is not JSON; a line holds one key, as `keys new --json` prints it under entry',
    )
  }
}
