import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { ConfigError, type Path } from './errors.js'

/** A file as plain values, and the names at one path of keys in the order in which they are written. */
export interface ParsedFile {
  readonly value: unknown
  readonly order: (...path: readonly string[]) => readonly string[]
}

/** Reads YAML 1.2. Throws a `ConfigError` on anything that is not, on a key that stands twice, and on tags of its own. */
export function parseYaml(text: string): ParsedFile {
  const document = read(text)
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem !== undefined) {
    throw new ConfigError(
      [],
      `not valid YAML: ${problem.message.split('\n')[0]?.replace(/:$/, '')}`,
    )
  }
  refuseTwins(document.contents, [])
  return { value: plain(document), order: (...path) => namesUnder(document.getIn(path, true)) }
}

/** Nesting beyond the stack is thrown as a RangeError. */
function read(text: string): Document {
  try {
    return parseDocument(text, { uniqueKeys: false, prettyErrors: true })
  } catch {
    throw new ConfigError([], 'not valid YAML: it is nested too deep')
  }
}

function plain(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch {
    throw new ConfigError([], 'not valid YAML: its aliases cannot be followed')
  }
}

function refuseTwins(node: unknown, path: Path): void {
  if (isAlias(node)) return
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) refuseTwins(item, [...path, index])
  }
  if (!isMap(node)) return
  const seen = new Set<string>()
  for (const { key, value } of node.items) {
    const name = keyName(key, path)
    if (seen.has(name)) throw new ConfigError([...path, name], 'stands here twice')
    seen.add(name)
    refuseTwins(value, [...path, name])
  }
}

function keyName(key: unknown, path: Path): string {
  if (!isScalar(key) || key.value === null || key.value === '__proto__') {
    throw new ConfigError(path, 'a key must be a plain name')
  }
  return String(key.value)
}

function namesUnder(node: unknown): readonly string[] {
  return isMap(node) ? node.items.map(({ key }) => (isScalar(key) ? String(key.value) : '')) : []
}
