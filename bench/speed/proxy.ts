/**
 * @fastify/http-proxy as it comes, in front of one server.
 *
 *     proxy.ts URL
 */
import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'

const [upstream = ''] = process.argv.slice(2)
const app = Fastify({ logger: false })
await app.register(proxy, { upstream })
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write(`listening on ${url}/\n`)
