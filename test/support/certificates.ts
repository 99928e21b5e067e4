import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A certificate and its key, as texts and as files. */
export interface Pair {
  readonly cert: string
  readonly key: string
  readonly certFile: string
  readonly keyFile: string
}

/** What a certificate is to say. */
export interface Wanted {
  /** The subject's common name. */
  readonly name: string
  /** Alternative names as openssl takes them, such as `URI:spiffe://acme.example/ann`. */
  readonly alternatives?: readonly string[]
  /** Days from now until it ends; in the past when negative. */
  readonly days?: number
}

/** An authority of a test's own that makes certificates, with openssl, in a folder. */
export class Authority {
  readonly #folder: string
  readonly #pair: Pair
  #made = 0

  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#pair = this.#pairOf(name)
    const { certFile, keyFile } = this.#pair
    const extension = 'basicConstraints=critical,CA:TRUE'
    openssl(
      ...['req', '-x509', '-new', '-nodes', ...NEW_KEY, '-keyout', keyFile, '-out', certFile],
      ...['-subj', `/CN=${name}`, '-days', '30', '-addext', extension],
    )
    this.name = name
  }

  readonly name: string

  /** The authority's own certificate, in PEM. */
  get cert(): string {
    return readFileSync(this.#pair.certFile, 'utf8')
  }

  get certFile(): string {
    return this.#pair.certFile
  }

  issue({ name, alternatives = [], days = 30 }: Wanted): Pair {
    const stem = `${this.name}-${this.#made++}`
    const pair = this.#pairOf(stem)
    const request = join(this.#folder, `${stem}.csr`)
    const extensions = join(this.#folder, `${stem}.ext`)
    const listed = alternatives.map((one, index) => `${one.replace(':', `.${index} = `)}`)
    const section = listed.length > 0 ? ['subjectAltName=@names', '[names]', ...listed] : []
    writeFileSync(extensions, ['basicConstraints=CA:FALSE', ...section, ''].join('\n'))
    const { certFile: ca, keyFile: caKey } = this.#pair
    openssl(
      ...['req', '-new', '-nodes', ...NEW_KEY, '-keyout', pair.keyFile, '-out', request],
      ...['-subj', `/CN=${name}`],
    )
    openssl(
      ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial'],
      ...['-out', pair.certFile, '-days', String(days), '-extfile', extensions],
    )
    return readPair(pair)
  }

  #pairOf(stem: string): Pair {
    const [certFile, keyFile] = [
      join(this.#folder, `${stem}.pem`),
      join(this.#folder, `${stem}.key`),
    ]
    return { cert: '', key: '', certFile, keyFile }
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

function readPair(pair: Pair): Pair {
  return {
    ...pair,
    cert: readFileSync(pair.certFile, 'utf8'),
    key: readFileSync(pair.keyFile, 'utf8'),
  }
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' })
}
