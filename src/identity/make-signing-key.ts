import type { PrivateJwk, SigningAlgorithm, SigningKey } from './signing-keys.js'

/** Makes a key pair that has signed nothing yet; `now` in ms since 1970. */
export async function makeKey(algorithm: SigningAlgorithm, now: number): Promise<SigningKey> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = asPrivate(await exportJWK(privateKey))
  return { kid: await calculateJwkThumbprint({ ...jwk }), algorithm, since: now, jwk }
}

function asPrivate(jwk: { readonly [Part in keyof PrivateJwk]?: string | undefined }): PrivateJwk {
  const { kty, crv, x, y, d } = jwk
  if (kty === undefined || crv === undefined || x === undefined || d === undefined) {
    throw new TypeError('a key that was just made is none of a curve')
  }
  return y === undefined ? { kty, crv, x, d } : { kty, crv, x, y, d }
}
