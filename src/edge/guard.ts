import type { IncomingMessage } from 'node:http'

/** What a listener lets in by where a request says it comes from and what it thinks it speaks to. */
export interface Guard {
  /** Origins of browsers that are let in, each as a browser writes it (`https://app.example`). Usually none. */
  readonly allowedOrigins: readonly string[]
}

/** Says whether a request may come in at all; a refusal is 403 on every route. */
export type Admits = (request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>) => boolean

/**
 * Origin (§8.3.1): none, or exactly one of those allowed; `null`, several and empty ones are not. On a loopback address the
 * Host must also name this machine, or the host of an allowed origin: a foreign name that resolves to 127.0.0.1 is how a web
 * page gets around the check of its origin.
 */
export function createGuard({ allowedOrigins }: Guard, boundTo: 'loopback' | 'network'): Admits {
  const allowed = allowedOrigins.filter((origin) => ORIGIN.test(origin) && URL.canParse(origin))
  const origins = new Set(allowed)
  const hosts = new Set(allowed.flatMap(hostsOf))
  return ({ headers, rawHeaders }) => {
    const { origin, host } = headers
    if (origin !== undefined && !origins.has(origin)) return false
    if (boundTo === 'network') return true
    if (host === undefined || headerValues(rawHeaders, 'host').length > 1) return false
    return LOOPBACK_HOST.test(host) || hosts.has(host.toLowerCase())
  }
}

/** What is no origin of a place, `null` above all, lets nobody in. */
const ORIGIN = /^https?:\/\/[^/?#@]+$/i
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': ':80', 'https:': ':443' }

/** As a Host may name an origin: browsers leave the port out where it is the scheme's own, proxies write it at times. */
function hostsOf(origin: string): readonly string[] {
  const { protocol, host, port } = new URL(origin)
  const usual = DEFAULT_PORTS[protocol]
  return port === '' && usual !== undefined ? [host, host + usual] : [host]
}

/** Tells whether an address that a socket is bound to can be reached from this machine alone. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address)
}

/** The value of a header that stands once. Node joins one that comes twice, except for a few that it drops. */
export function oneHeader(
  { headers }: Pick<IncomingMessage, 'headers'>,
  name: string,
): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.join(',')
}

/** Every value of a header, `name` in lower case; Node itself drops the second of some and joins those of others. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const candidate = rawHeaders[at]
    if (candidate?.length !== name.length || candidate.toLowerCase() !== name) continue
    values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}
