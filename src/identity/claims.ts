import { GATEWAY_ROLE } from '../protocol/memory.js'
import { EVERY_OWNER, type Person } from './caller.js'

/** Where a claim stands: its name, or the names on the way to it. */
type ClaimPath = readonly string[]

/** How the claims of one issuer are read. */
export interface ClaimRules {
  readonly ownerClaim: ClaimPath
  /** Whether "*" in that claim is every owner; otherwise such a token is refused. */
  readonly everyOwner: 'refused' | 'allowed'
  readonly nameClaim: ClaimPath
  readonly rolesClaim: ClaimPath | undefined
  /** What every caller of this issuer has, beside those of the claim. */
  readonly roles: readonly string[]
  /** Put before names and owners, so that those of two issuers are not taken for each other. */
  readonly prefix: string
}

/** The claims of a token whose signature holds. */
export type Claims = Readonly<Record<string, unknown>>

/** Whom claims stand for; undefined where they name no owner that may be acted for. */
export function personOf(claims: Claims, rules: ClaimRules): Person | undefined {
  const owner = ownerOf(claimAt(claims, rules.ownerClaim), rules)
  const name = claimAt(claims, rules.nameClaim)
  if (owner === undefined || typeof name !== 'string' || name === '') return undefined
  return { name: rules.prefix + name, owner, roles: rolesOf(claims, rules) }
}

/** Of the object itself alone, so that no name reaches what every object inherits. */
function claimAt(claims: Claims, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = Object.getOwnPropertyDescriptor(value, step)?.value
  }
  return value
}

function ownerOf(claim: unknown, { everyOwner, prefix }: ClaimRules): Person['owner'] | undefined {
  if (claim === EVERY_OWNER) return everyOwner === 'allowed' ? EVERY_OWNER : undefined
  const owners = listOf(claim)
  if (owners === undefined || owners.length === 0) return undefined
  if (owners.some((owner) => owner === '' || owner === EVERY_OWNER)) return undefined
  return [...new Set(owners.map((owner) => prefix + owner))]
}

/** A claim may not make a caller a gateway: that is for the configuration to say. */
function rolesOf(claims: Claims, { rolesClaim, roles }: ClaimRules): readonly string[] {
  const claim = rolesClaim && claimAt(claims, rolesClaim)
  const named = typeof claim === 'string' ? claim.split(' ') : (listOf(claim) ?? [])
  const others = named.filter((role) => role !== '' && role !== GATEWAY_ROLE)
  return [...new Set([...roles, ...others])]
}

function listOf(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return [claim]
  return Array.isArray(claim) && claim.every((one) => typeof one === 'string') ? claim : undefined
}
