import { isMethod, METHOD_NAMES, type Method } from '../protocol/methods.js'
import { ConfigError, type Path } from './errors.js'
import { didYouMean } from './values.js'

/** Methods may be written without what all their names begin with. */
const BEGINNING = 'memory/'

/** The method that is meant, as `memory/recall` or `recall`; undefined where there is none. */
export function methodCalled(written: string): Method | undefined {
  const name = written.startsWith(BEGINNING) ? written : BEGINNING + written
  return isMethod(name) ? name : undefined
}

/** What to say of a name that no method has. */
export function methodHint(written: string): string {
  const known = METHOD_NAMES.map((method) => method.slice(BEGINNING.length))
  const name = written.startsWith(BEGINNING) ? written.slice(BEGINNING.length) : written
  return didYouMean(name, known)
}

/** The same for a list in a file. Throws a `ConfigError` for a method that does not exist. */
export function toMethods(written: readonly string[], path: Path): readonly Method[] {
  return written.map((name, index) => {
    const method = methodCalled(name)
    if (method !== undefined) return method
    throw new ConfigError([...path, index], `there is no method ${name}; ${methodHint(name)}`)
  })
}
