import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { TlsConfig } from '../config/auth.js'
import { ConfigError } from '../config/errors.js'
import type { TlsMaterial } from '../edge/tls.js'

/** Reads what a listener needs for TLS. Rejects with a `ConfigError` that names the key and the file that cannot be used. */
export async function readTls({ cert, key, ca, minVersion }: TlsConfig): Promise<TlsMaterial> {
  const material = {
    cert: await readPem('cert', cert),
    key: await readPem('key', key),
    ca: ca === undefined ? undefined : await readPem('ca', ca),
    minVersion,
  }
  const certificate = certificatesIn('cert', cert, material.cert)
  if (ca !== undefined) certificatesIn('ca', ca, material.ca ?? '')
  if (!certificate.checkPrivateKey(privateKeyIn(key, material.key))) {
    throw unusable('key', key, `is not the key of the certificate in ${cert}`)
  }
  return material
}

type Part = 'cert' | 'key' | 'ca'

async function readPem(part: Part, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
    throw unusable(part, path, READING[code] ?? `cannot be read (${code})`)
  }
}

const READING: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'cannot be read by this user',
  EISDIR: 'is a folder, not a file',
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Every certificate must be one, since those that are not would be passed over; gives the first. */
function certificatesIn(part: Part, path: string, text: string): X509Certificate {
  const [first] = (text.match(CERTIFICATE) ?? []).map((pem) => certificate(part, path, pem))
  if (first === undefined) throw unusable(part, path, 'holds no certificate in PEM')
  return first
}

function certificate(part: Part, path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw unusable(part, path, 'holds a certificate that cannot be read')
  }
}

function privateKeyIn(path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    throw unusable(
      'key',
      path,
      code === 'ERR_MISSING_PASSPHRASE'
        ? 'is locked with a passphrase; store it without one, readable to this user alone'
        : 'holds no private key in PEM',
    )
  }
}

function unusable(part: Part, path: string, problem: string): ConfigError {
  return new ConfigError(['listen', 'tls', part], `${path} ${problem}`)
}
