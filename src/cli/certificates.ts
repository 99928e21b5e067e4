import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { messageOf } from '../protocol/errors.js'
import { Failure } from './failure.js'

/** The PEM files that a command line names. */
export interface CertificateFiles {
  readonly cert?: string
  readonly key?: string
  /** Authorities that are trusted instead of those that Node knows. */
  readonly ca?: string
}

interface Where {
  /** What they are to be shown to. */
  readonly url: URL
  /** Where relative paths start. */
  readonly cwd: string
}

/** Reads the files; undefined where none is named. Rejects with a `Failure` where they cannot be used. */
export async function secureContextOf(
  { cert, key, ca }: CertificateFiles,
  { url, cwd }: Where,
): Promise<SecureContext | undefined> {
  if ((cert === undefined) !== (key === undefined)) {
    throw new Failure(2, 'a certificate is shown with its key: give both --cert and --key')
  }
  const files = Object.entries({ cert, key, ca }).filter(([, file]) => file !== undefined)
  if (files.length === 0) return undefined
  if (url.protocol !== 'https:') throw new Failure(2, 'certificates are for https:// addresses')
  const read = files.map(async ([name, file]) => [name, await pem(resolve(cwd, `${file}`))])
  const material = Object.fromEntries(await Promise.all(read))
  try {
    return createSecureContext(material)
  } catch (thrown) {
    const reason = messageOf(thrown)
    const names = files.map(([name]) => `--${name}`).join(', ')
    throw new Failure(2, `what ${names} name cannot be used together: ${reason}`)
  }
}

async function pem(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((thrown: unknown) => {
    const code = thrown instanceof Error && 'code' in thrown ? `${thrown.code}` : 'unknown'
    throw new Failure(2, `${path} cannot be read (${code})`)
  })
  if (text.includes('-----BEGIN ')) return text
  throw new Failure(2, `${path} is no PEM file`)
}
