import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Subject } from '../subject.js'
import type { Program } from './program.js'

const PING = 'after the notification'

/** A subject on the pipes of a program; every line of its stdout has to be a reply that somebody waits for. */
export function overStdio({ child, stderr }: Program, cleanUp: () => void): Subject {
  const waiting = new Map<string, (reply: string) => void>()
  const strays: string[] = []
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => {
    const id = idOf(line)
    const take = waiting.get(id)
    waiting.delete(id)
    if (take === undefined) strays.push(line)
    else take(line)
  })
  const ended = once(child, 'close')
  const request = (text: string, id: string) =>
    Promise.race([
      new Promise<string>((resolve) => {
        waiting.set(id, resolve)
        child.stdin.write(`${text}\n`)
      }),
      ended.then(() => Promise.reject(new Error(`it ended and said: ${stderr()}`))),
    ])
  return {
    async send(text) {
      if (!isNotification(text)) return request(text, idOf(text))
      child.stdin.write(`${text}\n`)
      const ping = JSON.stringify({ jsonrpc: '2.0', id: PING, method: 'memory/describe' })
      await request(ping, JSON.stringify(PING))
      return strays.shift()
    },
    async close() {
      child.stdin.end()
      const [code] = await ended
      cleanUp()
      if (code !== 0) throw new Error(`the end of the input ended it with ${code}: ${stderr()}`)
      if (strays.length > 0) throw new Error(`nobody asked for ${strays.join('\n')}`)
    },
  }
}

/** The id as the reply will bear it: null where a server cannot tell or does not take it. */
function idOf(text: string): string {
  const message = parsed(text)
  const id = isObject(message) ? message['id'] : null
  return JSON.stringify(typeof id === 'string' || typeof id === 'number' ? id : null)
}

function isNotification(text: string): boolean {
  const message = parsed(text)
  return isObject(message) && message['id'] === undefined && typeof message['method'] === 'string'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
