import { ConfigError, type Path } from './errors.js'

/** The environment as it was given to the process; read by name alone. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Deeper than any setting; an alias that holds itself would never end. */
const DEEPEST = 16
const REFERENCE = /\$(\$?)\{([^}]*)\}/g
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Puts the environment in for every `${NAME}` in the texts of a value; `$${NAME}` stays as `${NAME}`. */
export function fillIn(value: unknown, env: Environment, path: Path = []): unknown {
  if (path.length > DEEPEST) throw new ConfigError(path.slice(0, 3), 'is nested too deep')
  if (typeof value === 'string') return fillText(value, env, path)
  if (Array.isArray(value)) return value.map((item, index) => fillIn(item, env, [...path, index]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fillIn(item, env, [...path, key])]),
  )
}

function fillText(text: string, env: Environment, path: Path): string {
  return text.replace(REFERENCE, (_, escaped: string, name: string) => {
    if (escaped !== '') return `\${${name}}`
    if (!VARIABLE.test(name)) {
      throw new ConfigError(path, `\${${name}} names no environment variable; write \${NAME}`)
    }
    const filled = env[name]
    if (filled === undefined) {
      throw new ConfigError(path, `the environment variable ${name} is not set`)
    }
    return filled
  })
}
