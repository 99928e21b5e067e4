import { z } from 'zod'

const MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const BYTES = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const
const LONGEST = MS.d
/** Ten years, give or take. */
const LONGEST_LIFE = 3650 * MS.d

/** What to say of a value of the wrong kind; of none at all, that it is missing. */
export function expected(problem: string) {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined ? 'is missing' : problem
  return { error }
}

/** A text that must say something. */
export const text = z.string(expected('must be text; put it in quotes')).min(1, 'must not be empty')

/** The address of a server. Its text is never repeated in a message, since it may hold what the environment gave. */
export const httpUrl = text
  .refine(isHttpUrl, 'must be an http:// or https:// URL')
  .refine(
    (url) => !isHttpUrl(url) || new URL(url).username + new URL(url).password === '',
    'must not carry a user or password; put a token into auth.bearer',
  )

export function isHttpUrl(written: string): boolean {
  return URL.canParse(written) && /^https?:$/.test(new URL(written).protocol)
}

/** `500ms`, `2s`, `5m` or `1h` as ms, more than nothing and at most a day. */
export const duration = z
  .unknown()
  .transform((value) => readDuration(value, LONGEST))
  .refine((ms) => ms !== undefined, 'must be a duration such as 500ms, 2s or 5m, at most 24h')
  .transform((ms) => ms ?? 0)

/** How long something lasts, as `12h` or `7d`, in ms; at most ten years. */
export const lifetime = z
  .unknown()
  .transform((value) => readDuration(value, LONGEST_LIFE))
  .refine((ms) => ms !== undefined, 'must be a duration such as 30m, 12h or 7d, at most 3650d')
  .transform((ms) => ms ?? 0)

function readDuration(written: unknown, longest: number): number | undefined {
  const match = typeof written === 'string' ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(written) : null
  if (match === null) return undefined
  const ms = Math.round(Number(match[1]) * MS[match[2] as keyof typeof MS])
  return ms > 0 && ms <= longest ? ms : undefined
}

/** A number of bytes, also as `512KiB`, `16MiB` or `1GiB`; at least 1 KiB. */
export const size = z
  .unknown()
  .transform((value) => readSize(String(value)))
  .refine(
    (bytes) => bytes !== undefined,
    'must be a size such as 65536, 512KiB or 16MiB, at least 1KiB and at most 1GiB',
  )
  .transform((bytes) => bytes ?? 0)

function readSize(written: string): number | undefined {
  const match = /^(\d+)(|KiB|MiB|GiB)$/.exec(written)
  if (match === null) return undefined
  const bytes = Number(match[1]) * BYTES[match[2] as keyof typeof BYTES]
  return bytes >= BYTES.KiB && bytes <= BYTES.GiB ? bytes : undefined
}

/** A whole number within bounds; digits in text count too, since that is what the environment gives. */
export function whole(least: number, most: number) {
  const problem = `must be a whole number from ${least} to ${most}`
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z.int(problem).min(least, problem).max(most, problem),
  )
}

/** One of a few words. */
export function oneOf<const W extends readonly [string, ...string[]]>(words: W) {
  return z.enum(words, `must be ${words.join(' or ')}`)
}

/** The issue to tell of when there are several: a key that nobody knows often explains the rest. */
export function foremost(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  return issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
}

/** An object that knows its keys: any other is refused, with the one that was probably meant. */
export function strict<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownKey(issue.keys[0] ?? '', Object.keys(shape))
        : 'must be a mapping of keys to values',
  })
}

function unknownKey(key: string, known: readonly string[]): string {
  const best = nearest(key, known)
  return best === undefined
    ? `unknown key; known here: ${known.join(', ')}`
    : `unknown key; did you mean ${best}?`
}

/** What to say of a name that stands for nothing: the one that was probably meant, or all there are. */
export function didYouMean(name: string, known: readonly string[]): string {
  const best = nearest(name, known)
  return best === undefined
    ? `there are ${[...new Set(known)].join(', ')}`
    : `did you mean ${best}?`
}

function nearest(word: string, known: readonly string[]): string | undefined {
  const near = known.filter(
    (name) => distance(name, word) <= (name.length < 4 ? 1 : Math.ceil(name.length / 3)),
  )
  return near.sort((a, b) => distance(a, word) - distance(b, word))[0]
}

/** Edits, of one letter each, that turn one word into the other (Levenshtein). */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...left].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...right].entries()) {
      const kept = (row[j] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(kept, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const BAD_NAME = 'a name is made of letters, digits, - and _, 64 at most'

/** A mapping of names that may stand in metrics and headers to settings. */
export function named<T extends z.ZodType>(of: T) {
  return z.record(z.string().regex(NAME), of, {
    error: ({ code }) =>
      code === 'invalid_key' ? BAD_NAME : 'must be a mapping of names to settings',
  })
}
