import { A2mError, Fault, toA2mError } from '../../protocol/errors.js'
import type { Layout } from '../layout.js'
import type { Parts } from '../parts.js'

/**
 * What a caller is told of an error where some tiers and upstreams are not there for it: none of their names. The code stays, and
 * with it what it may do next.
 */
export function discreet(thrown: unknown, { layout, whole }: Parts): unknown {
  if (!(thrown instanceof A2mError) && !(thrown instanceof Fault)) return thrown
  const error = toA2mError(thrown)
  const mentions = mentioning(hidden(whole.layout(), layout()))
  if (mentions === undefined || !mentions(JSON.stringify([error.message, error.data])))
    return thrown
  const untold = (value: unknown) => mentions(JSON.stringify(value) ?? '')
  const data = Object.entries(error.data ?? {}).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [[name, value.filter((one) => !untold(one))]]
    return untold(value) ? [] : [[name, value]]
  })
  const message = mentions(error.message) ? UNTOLD : error.message
  return new A2mError(error.code, message, Object.fromEntries(data))
}

const UNTOLD = 'what this needs beyond your roles did not do its part'

function hidden(whole: Layout, there: Layout): string[] {
  const seen = new Set(namesIn(there))
  return namesIn(whole).filter((name) => !seen.has(name))
}

function namesIn({ tiers, sources, absent }: Layout): string[] {
  const named = tiers.flatMap(({ name, upstreams }) => [name, ...upstreams])
  return [...named, ...sources.map(({ name }) => name), ...absent.keys()]
}

/** Whether a text has one of the names in it, as a word. */
function mentioning(names: readonly string[]): ((text: string) => boolean) | undefined {
  if (names.length === 0) return undefined
  const any = names.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  const pattern = new RegExp(`(?<![\\w-])(?:${any})(?![\\w-])`)
  return (text) => pattern.test(text)
}
