import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions, SecureVersion, TLSSocket } from 'node:tls'
import {
  type Certificate,
  type CommonNames,
  commonNamesOf,
  readCertificate,
} from '../identity/certificates.js'

/** What a listener shows of itself, and which authorities may vouch for its clients; texts in PEM. */
export interface TlsMaterial {
  readonly cert: string
  readonly key: string
  /** Undefined where clients are not asked for certificates. */
  readonly ca: string | undefined
  readonly minVersion: SecureVersion
}

/**
 * The encrypted side of a listener. A client whose certificate nobody vouches for is let in as one without any, so that the
 * refusal of its calls is the same as everybody's.
 */
export class TlsDoor {
  readonly #refused: (reason: string, names: CommonNames) => void
  readonly #asks: boolean
  #material: TlsMaterial
  #server: Server | undefined
  /** What the connections that are open have shown, vouched for by the authorities of now. */
  #shown = new WeakMap<Socket, Certificate | undefined>()

  /** `refused` is told, once a connection, of a certificate that counts as none; `reason` holds nothing of it. */
  constructor(material: TlsMaterial, refused: (reason: string, names: CommonNames) => void) {
    this.#refused = refused
    this.#material = material
    this.#asks = material.ca !== undefined
  }

  createServer(options: ServerOptions, handler: RequestListener): Server {
    const server = createServer(
      {
        ...options,
        ...contextOf(this.#material),
        requestCert: this.#asks,
        rejectUnauthorized: false,
      },
      handler,
    )
    if (this.#asks) server.on('secureConnection', (socket) => this.#look(socket))
    this.#server = server
    return server
  }

  /** The certificate that the sender of a request has shown; undefined where none that is vouched for. */
  certificateOf({ socket }: IncomingMessage): Certificate | undefined {
    return this.#shown.get(socket)
  }

  /** Whether a connection was made under other authorities, so that its client has to connect again. */
  isOutdated({ socket }: IncomingMessage): boolean {
    return this.#asks && !this.#shown.has(socket)
  }

  /** Connections that are open go on; with other authorities they end, each after the answer that it is waiting for. */
  renew(material: TlsMaterial): void {
    const sameAuthorities = material.ca === this.#material.ca
    this.#material = material
    this.#server?.setSecureContext(contextOf(material))
    if (sameAuthorities) return
    this.#shown = new WeakMap()
    this.#server?.closeIdleConnections()
  }

  #look(socket: TLSSocket): void {
    const certificate = socket.getPeerX509Certificate()
    this.#shown.set(socket, certificate && this.#read(certificate, socket))
  }

  #read(certificate: X509Certificate, socket: TLSSocket): Certificate | undefined {
    const { authorized, authorizationError } = socket
    const read = authorized ? readCertificate(certificate) : undefined
    if (read !== undefined) return read
    const reason = authorized
      ? 'has alternative names that cannot be told apart'
      : `is not vouched for: ${authorizationError}`
    this.#refused(reason, commonNamesOf(certificate))
    return undefined
  }
}

function contextOf({ cert, key, ca, minVersion }: TlsMaterial): SecureContextOptions {
  return { cert, key, minVersion, ...(ca === undefined ? {} : { ca }) }
}
