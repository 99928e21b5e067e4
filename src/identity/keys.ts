import { hash } from 'node:crypto'

const PREFIX = 'a2m_'
const KEY_BYTES = 32

/** An API key that was just made. `key` is shown once and never kept; `sha256` (hexadecimal) is what a config holds. */
export interface NewKey {
  readonly key: string
  readonly sha256: string
}

/** Makes an API key of 256 random bits; the prefix lets people and secret scanners tell what it is. */
export function newKey(randomBytes: (size: number) => Uint8Array): NewKey {
  const key = PREFIX + Buffer.from(randomBytes(KEY_BYTES)).toString('base64url')
  return { key, sha256: digestHex(key) }
}

/** The SHA-256, in hexadecimal, of a key as it is written after `Bearer`. A key holds 256 random bits, so no slow hash is needed. */
export function digestHex(key: string): string {
  return hash('sha256', key, 'hex')
}
