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
  readonly commonNames: CommonNames
}

/** Of its subject and of who issued it: enough to find a certificate, and no more. Undefined where there is none. */
export interface CommonNames {
  readonly subject: string | undefined
  readonly issuer: string | undefined
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

export interface FindHolderOptions {
  readonly accessOf: AccessOf
  /** Told why a certificate is nobody's, in words that hold nothing of it. */
  readonly refused: (reason: string, names: CommonNames) => void
}

/**
 * The owner is the one name that the certificate holds of the kind configured; with several of them, or none, it is nobody's.
 * That it is vouched for has been seen to by who took it off the wire; that it is still valid is looked at each time.
 */
export function createFindHolder(
  rule: CertificateRule,
  { accessOf, refused }: FindHolderOptions,
): FindHolder {
  return (certificate, now) => {
    const found = ownerIn(certificate, rule, now)
    if ('problem' in found) {
      refused(found.problem, certificate.commonNames)
      return undefined
    }
    const { owner } = found
    return callerOf({ name: owner, owner, roles: rule.roles }, accessOf)
  }
}

type Found = { readonly owner: string } | { readonly problem: string }

function ownerIn(
  { names, from, until }: Certificate,
  { owner: part, strip }: CertificateRule,
  now: number,
): Found {
  const [name, second] = names[part]
  if (name === undefined) return { problem: `names no owner: it has no ${part}` }
  if (second !== undefined) return { problem: `names no one owner: it has several of ${part}` }
  if (now < from) return { problem: 'is too early' }
  if (now >= until) return { problem: 'has expired' }
  if (!name.startsWith(strip)) {
    return { problem: `names no owner: its ${part} begins otherwise than strip` }
  }
  const owner = name.slice(strip.length)
  if (owner === '') return { problem: `names no owner: nothing follows strip in its ${part}` }
  if (owner === EVERY_OWNER) return { problem: 'names every owner, which no certificate may' }
  return { owner }
}

/** Undefined where its alternative names cannot be told apart for certain. */
export function readCertificate(certificate: X509Certificate): Certificate | undefined {
  const alternatives = readAlternatives(certificate.subjectAltName ?? '')
  if (alternatives === undefined) return undefined
  const of = (kind: string) => alternatives.flatMap(([its, name]) => (its === kind ? [name] : []))
  return {
    names: {
      san_uri: of('URI'),
      san_dns: of('DNS'),
      san_email: of('email'),
      common_name: listOf(certificate.toLegacyObject().subject?.CN),
    },
    from: Date.parse(certificate.validFrom),
    until: Date.parse(certificate.validTo),
    commonNames: commonNamesOf(certificate),
  }
}

/** The longest common name that X.509 allows; whom nobody vouches for may write more. */
const LONGEST_NAME = 64

/** Reads nothing else, so that it works for any certificate. */
export function commonNamesOf(certificate: X509Certificate): CommonNames {
  const { subject, issuer } = certificate.toLegacyObject()
  const first = (names: string | readonly string[] | undefined) =>
    listOf(names)[0]?.slice(0, LONGEST_NAME)
  return { subject: first(subject?.CN), issuer: first(issuer?.CN) }
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
