import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** One question as it arrived. */
export interface Asked {
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly body: {
    readonly model: string
    readonly messages: readonly { readonly role: string; readonly content: string }[]
  }
}

export interface ChatServer {
  /** What `/chat/completions` stands under. */
  readonly url: string
  readonly asked: readonly Asked[]
  /** The body of the reply to the next questions. */
  reply: unknown
  /** Its status; 200 to begin with. */
  status: number
}

/** The reply of a model that says this. */
export function saying(content: unknown, finish_reason = 'stop'): unknown {
  return { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }] }
}

/** An endpoint of OpenAI's chat shape on a loopback port; it ends with the test. */
export async function startChatServer(reply: unknown): Promise<ChatServer> {
  const asked: Asked[] = []
  const server = createServer(async (message, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of message) chunks.push(Buffer.from(chunk))
    const { url: path, headers } = message
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    asked.push({ path, authorization: headers.authorization, body })
    response.writeHead(chat.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(chat.reply))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const chat: ChatServer = { url: `http://127.0.0.1:${port}/v1`, asked, reply, status: 200 }
  return chat
}
