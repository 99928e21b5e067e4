import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Drain } from './drain.js'

/** Whether the gateway can serve; `reason` is for people, `federations` how each stands where there are several. */
export type Readiness = (
  | { readonly state: 'ready' }
  | { readonly state: 'waiting'; readonly reason: string }
) & { readonly federations?: Readonly<Record<string, 'ready' | 'waiting'>> }

/** `/health/live` answers as long as the process does, `/health/ready` 503 until it can serve and once it is closing. */
export function addHealthRoutes(app: FastifyInstance, ready: () => Readiness, drain: Drain): void {
  app.get('/health/live', (_request, reply) => reply.send({ state: 'live' }))
  app.get('/health/ready', (_request, reply) => {
    const readiness: Readiness = drain.draining ? { state: 'waiting', reason: 'closing' } : ready()
    return sendReadiness(reply, readiness)
  })
}

function sendReadiness(reply: FastifyReply, readiness: Readiness): FastifyReply {
  return reply.code(readiness.state === 'ready' ? 200 : 503).send(readiness)
}
