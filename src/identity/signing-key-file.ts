import { createPrivateKey, createPublicKey } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../protocol/errors.js'
import type { KeyRing, SigningKey } from './signing-keys.js'

const keySchema = z.strictObject({
  kid: z.string().min(1),
  algorithm: z.enum(['EdDSA', 'ES256']),
  since: z.number(),
  jwk: z.strictObject({
    kty: z.string(),
    crv: z.string(),
    x: z.string(),
    y: z.string().exactOptional(),
    d: z.string(),
  }),
})
const fileSchema = z.strictObject({
  version: z.literal(1),
  next: keySchema,
  current: keySchema,
  retired: z.array(keySchema.extend({ until: z.number() })),
})

/** What a file of secrets must not let anybody but its owner do. */
const OTHERS = 0o077
const OWNER_ONLY = 0o600

/**
 * Reads the keys of an earlier run; undefined where there is no file. Rejects with an Error that names the file and says what to
 * do where others may read it or it does not hold what was written.
 */
export async function readKeys(path: string): Promise<KeyRing | undefined> {
  const text = await readPrivate(path)
  if (text === undefined) return undefined
  const parsed = fileSchema.safeParse(parsedOf(text))
  if (!parsed.success) throw unusable(path, 'is not what the gateway wrote')
  const { version: _, ...ring } = parsed.data
  const broken = [ring.current, ring.next, ...ring.retired].find((key) => !isPair(key))
  if (broken !== undefined) throw unusable(path, `holds a key that is none (${broken.kid})`)
  return ring
}

async function readPrivate(path: string): Promise<string | undefined> {
  const file = await openOrNothing(path)
  if (file === undefined) return undefined
  try {
    const found = await file.stat()
    if (!found.isFile()) throw unusable(path, 'is no file')
    const { mode } = found
    if ((mode & OTHERS) !== 0) throw exposed(path, mode)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function openOrNothing(path: string) {
  try {
    return await open(path, 'r')
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    const reason = messageOf(thrown)
    throw new Error(`the keys that tokens are signed with cannot be read: ${reason}`)
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether both halves are of one key of the curve that its algorithm needs. */
function isPair({ algorithm, jwk }: SigningKey): boolean {
  const curve = algorithm === 'EdDSA' ? 'Ed25519' : 'P-256'
  try {
    const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
    const { crv, x, y } = createPublicKey(key).export({ format: 'jwk' })
    return crv === curve && x === jwk.x && y === jwk.y
  } catch {
    return false
  }
}

function exposed(path: string, mode: number): Error {
  const shown = (mode & 0o777).toString(8)
  return new Error(
    `${path}: others may read or change the keys that tokens are signed with (mode ${shown}); chmod 600 it, or remove it where somebody may have: new keys are made then`,
  )
}

function unusable(path: string, what: string): Error {
  return new Error(
    `${path}: ${what}; bring it back from a copy, or remove it: new keys are made then, and upstreams have to read them`,
  )
}

/** Writes the keys so that the file is the old or the new one, whole, whatever happens meanwhile. Only its owner may read it. */
export async function writeKeys(path: string, ring: KeyRing): Promise<void> {
  const draft = `${path}.new`
  const file = await open(draft, 'w', OWNER_ONLY)
  try {
    await file.chmod(OWNER_ONLY)
    await file.writeFile(JSON.stringify({ version: 1, ...ring }))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  await syncFolder(dirname(path))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
