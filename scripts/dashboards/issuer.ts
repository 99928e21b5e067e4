import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** Whom tokens are for. */
export const AUDIENCE = 'a2m-gateway'
const KEY = 'key-1'

/** Somebody who signs for agents, as a platform's identity provider does. */
export interface Issuer {
  /** What verifies its tokens, as JSON. */
  readonly keySet: string
  tokenFor(agent: string): Promise<string>
}

/** `name` is what its tokens say of it. */
export async function createIssuer(name: string): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA')
  const key = { ...(await exportJWK(publicKey)), kid: KEY, alg: 'EdDSA', use: 'sig' }
  return {
    keySet: JSON.stringify({ keys: [key] }),
    tokenFor: (agent) =>
      new SignJWT({})
        .setProtectedHeader({ alg: 'EdDSA', kid: KEY })
        .setIssuer(name)
        .setAudience(AUDIENCE)
        .setSubject(agent)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey),
  }
}
