/**
 * A2M servers that cost next to nothing: recall is answered from memory, with as many records as were asked for.
 *
 *     upstream.ts COUNT (repeated | fresh) (owned | ownerless)
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { OWNER } from '../harness/gateway.js'
import { announce, type Call, readCall, sendJson } from './minimal-http.js'
import { Prose } from './prose.js'
import { FreshReplies, type Records, RepeatedReplies, type Replies } from './replies.js'

const DESCRIPTION = {
  protocol: 'a2m/0.1',
  name: 'bench upstream',
  capabilities: ['core', 'scopes'],
  methods: ['describe', 'remember', 'recall', 'timeline', 'forget'].map((name) => `memory/${name}`),
}

function answer({ id, method, params }: Call, replies: Replies): string {
  if (method === 'memory/recall') return result(id, replies.recall(params?.limit ?? 8))
  if (method === 'memory/describe') return result(id, JSON.stringify(DESCRIPTION))
  const error = { code: -32602, message: 'nothing can be written here' }
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

function result(id: unknown, json: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`
}

function serve(texts: string, records: Records): void {
  const replies = texts === 'fresh' ? new FreshReplies(records) : new RepeatedReplies(records)
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      response.writeHead(404).end()
      return
    }
    sendJson(response, answer(await readCall(request), replies))
  }
  announce(createServer((request, response) => void handle(request, response)))
}

const [count = '1', texts = 'repeated', owned = 'owned'] = process.argv.slice(2)
const owner = owned === 'owned' ? OWNER : undefined
for (let number = 1; number <= Number(count); number++) {
  const name = `upstream${number}`
  serve(texts, { prose: new Prose(number), name, owner })
}
