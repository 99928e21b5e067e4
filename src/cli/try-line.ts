import type { AuthConfig } from '../config/auth.js'

const DESCRIBE = '{"jsonrpc":"2.0","id":1,"method":"memory/describe","params":{}}'

/** A first call of a gateway for its callers to try, with a credential of the kind that it takes. */
export function curlOf(url: URL, auth: AuthConfig | undefined): string {
  const credential = auth === undefined ? '' : `${credentialOf(auth)} `
  return `curl -s ${url} -H 'content-type: application/json' ${credential}-d '${DESCRIBE}'`
}

function credentialOf({ keys, keysFile, jwt, mtls }: AuthConfig): string {
  if (keys.length > 0 || keysFile !== undefined) return bearer('KEY')
  return jwt.length > 0 || mtls === undefined ? bearer('TOKEN') : '--cert CERT.pem --key KEY.pem'
}

function bearer(what: string): string {
  return `-H 'authorization: Bearer ${what}'`
}
