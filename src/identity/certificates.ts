import type { X509Certificate } from 'node:crypto'
import type { Caller } from '../protocol/memory.js'
import { type AccessOf, callerOf, EVERY_OWNER } from './caller.js'

/** The part of a certificate that names the owner. */
type Part = 'san_uri' | 'san_dns' | 'san_email' | 'common_name'

/** What a certificate says of its holder. Instants are wall time in ms. */
export interface Certificate {
  readonly names: Readonly<Record<Part, readonly string[]>>
  readonly from: number
  readonly until: number
}

/** How callers are known by their certificates. */
export interface CertificateRule {
  readonly owner: Part
  /** What that part must begin with, and what is taken off it. */
  readonly strip: string
  readonly roles: readonly string[]
}

/** The caller that a certificate stands for at an instant of wall time, in ms; undefined where it is nobody's. */
export type FindHolder = (certificate: Certificate, now: number) => Caller | undefined

/**
 * The owner is the one name that the certificate holds of the kind configured; with several of them, or none, it is nobody's.
 * That it is vouched for has been seen to by who took it off the wire; that it is still valid is looked at each time.
 */
export function createFindHolder(rule: CertificateRule, accessOf: AccessOf): FindHolder {
  return ({ names, from, until }, now) => {
    const [name, second] = names[rule.owner]
    if (name === undefined || second !== undefined) return undefined
    if (now < from || now >= until || !name.startsWith(rule.strip)) return undefined
    const owner = name.slice(rule.strip.length)
    if (owner === '' || owner === EVERY_OWNER) return undefined
    return callerOf({ name: owner, owner, roles: rule.roles }, accessOf)
  }
}

/** Undefined where its alternative names cannot be told apart for certain. */
export function readCertificate(certificate: X509Certificate): Certificate | undefined {
  const alternatives = readAlternatives(certificate.subjectAltName ?? '')
  if (alternatives === undefined) return undefined
  const of = (kind: string) => alternatives.flatMap(([its, name]) => (its === kind ? [name] : []))
  const { subject } = certificate.toLegacyObject()
  return {
    names: {
      san_uri: of('URI'),
      san_dns: of('DNS'),
      san_email: of('email'),
      common_name: listOf(subject?.CN),
    },
    from: Date.parse(certificate.validFrom),
    until: Date.parse(certificate.validTo),
  }
}

function listOf(names: string | readonly string[] | undefined): readonly string[] {
  if (names === undefined) return []
  return typeof names === 'string' ? [names] : names
}

/** One alternative name as Node prints it; a value that could be taken for several names comes in quotes, as JSON. */
const ALTERNATIVE = /([A-Za-z][\w ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y

/** Kinds with their values, in order; undefined where the text holds anything else. */
export function readAlternatives(
  printed: string,
): readonly (readonly [kind: string, name: string])[] | undefined {
  const found: [string, string][] = []
  let at = 0
  while (at < printed.length) {
    ALTERNATIVE.lastIndex = at
    const match = ALTERNATIVE.exec(printed)
    if (match === null) return undefined
    const [whole, kind = '', value = ''] = match
    found.push([kind, value.startsWith('"') ? String(JSON.parse(value)) : value])
    at += whole.length
  }
  return found
}
