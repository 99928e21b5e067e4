/** The version that this code speaks (§9). */
export const PROTOCOL = 'a2m/0.1'

/** The request header that names a version over HTTP (§8.3.2), in lower case. */
export const VERSION_HEADER = 'a2m-protocol-version'

const VERSION = /^a2m\/(0|[1-9]\d*)\.(0|[1-9]\d*)$/

/** While the major version is 0 the minor must match exactly; from 1.0 on the major decides (§4.1). Malformed is incompatible. */
export function compatible(left: string, right: string): boolean {
  const a = VERSION.exec(left)
  const b = VERSION.exec(right)
  if (a === null || b === null || a[1] !== b[1]) return false
  return a[1] !== '0' || a[2] === b[2]
}
