import { ConfigError, type Path } from './errors.js'

/** The environment as it was given to the process; read by name alone. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Deeper than any setting; an alias that holds itself would never end. */
const DEEPEST = 16
const REFERENCE = /\$(\$?)\{([^}]*)\}/g
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** A value with the environment filled in, and a way to take what was filled in out of a message again. */
export interface Filled {
  readonly value: unknown
  readonly hide: (message: string) => string
}

/** Puts the environment in for every `${NAME}` in the texts of a value; `$${NAME}` stays as `${NAME}`. */
export function fillIn(value: unknown, env: Environment): Filled {
  const used = new Map<string, string>()
  const read = (name: string): string | undefined => {
    const found = env[name]
    if (found !== undefined) used.set(name, found)
    return found
  }
  return { value: fill(value, read, []), hide: (message) => hide(message, used) }
}

/** What is shorter is no secret, and taking it out would garble the message. */
const SHORTEST_SECRET = 4

function hide(message: string, used: ReadonlyMap<string, string>): string {
  let hidden = message
  for (const [name, value] of used) {
    if (value.length >= SHORTEST_SECRET) hidden = hidden.replaceAll(value, () => `\${${name}}`)
  }
  return hidden
}

type Read = (name: string) => string | undefined

function fill(value: unknown, read: Read, path: Path): unknown {
  if (path.length > DEEPEST) throw new ConfigError(path.slice(0, 3), 'is nested too deep')
  if (typeof value === 'string') return fillText(value, read, path)
  if (Array.isArray(value)) return value.map((item, index) => fill(item, read, [...path, index]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fill(item, read, [...path, key])]),
  )
}

function fillText(text: string, read: Read, path: Path): string {
  if (text.replace(REFERENCE, '').includes('${')) {
    throw new ConfigError(path, `has a \${ that is not closed; write \${NAME}`)
  }
  return text.replace(REFERENCE, (_, escaped: string, name: string) => {
    if (escaped !== '') return `\${${name}}`
    if (!VARIABLE.test(name)) {
      throw new ConfigError(path, `\${${name}} names no environment variable; write \${NAME}`)
    }
    const filled = read(name)
    if (filled === undefined) {
      throw new ConfigError(path, `the environment variable ${name} is not set`)
    }
    return filled
  })
}
