import { createHash } from 'node:crypto'
import type { OwnerName, Subject } from '../subject.js'

/** Something that stands behind a subject and ends with it. */
export type Close = () => Promise<unknown>

/** A subject at an address. `keyFor` is the key that an owner shows, undefined where none is asked for. */
export function overHttp(
  url: string,
  keyFor: (owner: OwnerName) => string | undefined,
  close: Close,
): Subject {
  return {
    async send(text, owner) {
      const response = await fetch(url, {
        method: 'POST',
        headers: headers(keyFor(owner)),
        body: text,
      })
      const body = await response.text()
      if (response.status === 202 && body === '') return undefined
      if (response.status !== 200) throw new Error(`answered with ${response.status}: ${body}`)
      return body
    },
    close: async () => {
      await close()
    },
  }
}

function headers(key: string | undefined): Record<string, string> {
  return {
    'content-type': 'application/json',
    'a2m-protocol-version': 'a2m/0.1',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }
}

/** A digest as configurations hold it. */
export function sha256(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
