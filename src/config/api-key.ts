import { z } from 'zod'
import { parseInstant } from '../protocol/time.js'
import { strict, text } from './values.js'

/** Every owner, where an owner is expected. */
export const EVERY_OWNER = '*'

/** One API key. Several of one name are one caller, whose keys are being changed. */
export interface ApiKey {
  readonly name: string
  /** An owner, several that it may act for, or "*" for every owner. */
  readonly owner: string | readonly string[]
  /** The key's digest in lower-case hexadecimal. */
  readonly sha256: string
  readonly roles: readonly string[]
  /** Wall time in ms from which on the key is worth nothing; undefined: never. */
  readonly expires?: number | undefined
}

const owners = z
  .union([text, z.array(text)], {
    error: ({ input }) =>
      input === undefined
        ? 'is missing'
        : 'must be an owner, a list of owners, or "*" for every owner',
  })
  .refine((owner) => owner.length > 0, 'must name at least one owner')
  .refine(
    (owner) => typeof owner === 'string' || !owner.includes(EVERY_OWNER),
    '"*" is every owner, and stands alone',
  )
  .refine(
    (owner) => typeof owner === 'string' || new Set(owner).size === owner.length,
    'an owner stands twice',
  )

const instant = z
  .string('must be text; put it in quotes')
  .refine(
    (written) => parseInstant(written) !== undefined,
    'must be an instant such as "2027-01-31T00:00:00Z"',
  )
  .transform((written) => parseInstant(written))

/** One entry as it is written, in the configuration and in a file of keys. */
export const apiKey = strict({
  name: text,
  owner: owners,
  sha256: z
    .string('must be text; put it in quotes')
    .regex(
      /^[0-9a-fA-F]{64}$/,
      'must be a SHA-256 in 64 hexadecimal digits; `a2m-gateway keys new` makes one',
    )
    .toLowerCase(),
  roles: z.array(text).default([]),
  expires: instant.optional(),
})

export function toKey({ expires, ...key }: z.output<typeof apiKey>): ApiKey {
  return expires === undefined ? key : { ...key, expires }
}
