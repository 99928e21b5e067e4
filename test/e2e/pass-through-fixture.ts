import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { HTTP_LIMITS, type HttpEdgeOptions, type HttpLimits } from '../../src/edge/http.js'
import { Denied, type Leave } from '../../src/edge/through.js'
import { createIdentity } from '../../src/identity/identity.js'
import { A2mError } from '../../src/protocol/errors.js'
import type { Caller } from '../../src/protocol/memory.js'
import { systemClock } from '../../src/protocol/time.js'
import { createStreamThrough } from '../../src/transport/stream-through.js'
import { NOTHING, servedBy, startEdge } from './edge-fixture.js'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers as a test says; gone with the test. */
export async function startServer(handler: Handler): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/memory?v=2`
}

export interface Setup {
  readonly limits?: Partial<HttpLimits>
  readonly bearer?: string
  readonly leaveFor?: (caller: Caller, trace: string) => Leave | Promise<Leave>
  readonly keep?: NonNullable<HttpEdgeOptions['keep']>
  readonly retirement?: Readonly<Record<string, string>>
}

/** An edge whose version `next` is passed on to `url`; `a2m/0.1` is served here. */
export async function startPassing(url: string, setup: Setup = {}) {
  const upstream = createStreamThrough({ url: new URL(url), clock: systemClock, connections: 8 })
  const { bearer, leaveFor = () => ({ bearer }), retirement } = setup
  const edge = await startEdge(() => NOTHING, {
    versions: new Map([
      ['a2m/0.1', { served: servedBy(() => NOTHING) }],
      ['next', { through: { upstream, leaveFor }, retirement }],
    ]),
    identity: createIdentity(undefined, { clock: systemClock }),
    limits: { ...HTTP_LIMITS, ...setup.limits },
    ...(setup.keep === undefined ? {} : { keep: setup.keep }),
  })
  onTestFinished(() => upstream.close())
  return edge
}

export const NEXT = { 'a2m-protocol-version': 'next' }

export function deny(): never {
  throw new Denied(new A2mError('SCOPE_DENIED', 'not you'))
}

/** All of a stream, as bytes. */
export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
