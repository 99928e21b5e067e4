import type { Named } from './access-named.js'
import { A2mError } from './errors.js'

/** The refusal of a method that no role of the caller has. */
export function deniedMethod(method: string): A2mError {
  return new A2mError('SCOPE_DENIED', `your roles do not let you call ${method}`)
}

/** The refusal of a place that no role of the caller by itself lets it use like this. */
export function denied({ path, tier, key }: Named): A2mError {
  const what = [
    ...(tier === undefined ? [] : [`tier ${JSON.stringify(tier)}`]),
    ...(key === undefined ? [] : [`key ${JSON.stringify(key.slice(0, 80))}`]),
  ]
  return new A2mError(
    'SCOPE_DENIED',
    `${path}: your roles do not let you do that at ${what.join(', ')}`,
  )
}
