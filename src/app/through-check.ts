import { Cancellation } from '../protocol/cancellation.js'
import { Fault } from '../protocol/errors.js'
import type { PassedReply } from '../transport/stream-through.js'
import { Closers } from './closers.js'
import { verifierOf } from './leave.js'
import { signerOf, type ThroughParts } from './through.js'

/** The longest that an answer is waited for, in ms. */
const PATIENCE = 5_000
const DESCRIBE = '{"jsonrpc":"2.0","id":1,"method":"memory/describe","params":{}}'

/** What keeps a server that a version is passed on to from answering, for people; undefined where it answers. */
export async function faultOfThrough(
  parts: Omit<ThroughParts, 'closers'>,
): Promise<string | undefined> {
  const closers = new Closers()
  try {
    const { status, body } = await ask({ ...parts, closers })
    body.destroy()
    return status < 500 && status !== 404 && status !== 405
      ? undefined
      : `it answers with ${status}`
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return thrown.message
  } finally {
    await closers.close()
  }
}

/** On the gateway's own account: with its credential there, or with a token that says that it is the gateway. */
async function ask(parts: ThroughParts): Promise<PassedReply> {
  const { name, serves, shared, deps, closers } = parts
  const { createStreamThrough } = await import('../transport/stream-through.js')
  const { clock } = deps
  const upstream = createStreamThrough({ url: new URL(serves.url), clock, connections: 1 })
  closers.add(() => upstream.close())
  const signer = serves.bearer === undefined ? await signerOf(parts) : undefined
  const subject = shared.signing?.subject ?? ''
  const bearer = (await signer?.token(verifierOf(name, serves), subject)) ?? serves.bearer
  return upstream.pass({
    ...{ body: once(DESCRIBE), length: DESCRIBE.length, version: name, bearer },
    ...{ contentType: 'application/json', accept: 'application/json' },
    ...{ deadline: clock.monotonic() + PATIENCE, cancellation: new Cancellation() },
  })
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
