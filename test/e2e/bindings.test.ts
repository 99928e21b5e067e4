import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { emptyFolder, fileIn, Program } from '../support/gateway-process.js'
import { type Gateway, startGateway } from '../support/gateway-under-test.js'
import { meets } from '../support/meets.js'

const EMBEDDED = {
  upstreams: { one: { store: 'sqlite', path: 'one.db' } },
  tiers: { working: { upstream: 'one' } },
}

describe('over HTTP', () => {
  const post = async (gateway: Gateway, method: string, params: object = {}) => {
    const response = await gateway.post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))
    return { status: response.status, type: response.headers.get('content-type'), response }
  }

  test(`a request is answered with 200 and its reply, be it an error ${meets('8.3/answered', '8.3/protocol-errors')}`, async () => {
    const gateway = await startGateway(EMBEDDED)
    for (const [method, params, code] of [
      ['memory/timeline', {}, undefined],
      ['memory/recall', { tier: 'nowhere' }, -32002],
      ['memory/recall', { limit: -1 }, -32602],
      ['memory/nothing', {}, -32601],
      ['memory/describe', { protocol: 'a2m/0.2' }, -32007],
    ] as const) {
      const { status, type, response } = await post(gateway, method, params)
      expect([status, type]).toEqual([200, 'application/json'])
      const reply = (await response.json()) as { error?: { code: number } }
      expect(reply).toMatchObject({ jsonrpc: '2.0', id: 7 })
      expect(reply.error?.code).toBe(code)
      expect('result' in reply).toBe(code === undefined)
    }
  })

  test(`events are polled and never pushed ${meets('8.3/no-push', '4.13/truthful', '4.13/refused', '4.14/no-op')}`, async () => {
    const gateway = await startGateway(EMBEDDED)
    const told = await gateway.call('memory/describe')
    expect(told.capabilities).toContain('events')
    expect(told.events).toEqual({ push: false })
    await expect(gateway.call('memory/events/subscribe')).rejects.toMatchObject({ code: -32003 })
    expect(await gateway.call('memory/events/unsubscribe')).toEqual({ subscribed: false })
    const { cursor } = await gateway.call('memory/events')
    const id = await gateway.remember({ content: 'x' })
    const { events } = await gateway.call('memory/events', { cursor })
    expect(events).toMatchObject([{ kind: 'written', id }])
  })
})

/** Speaks with a program over its pipes, and keeps every line that it says. */
class Lines {
  readonly all: Readonly<Record<string, unknown>>[] = []
  readonly #program: Program
  readonly #waiting = new Set<() => void>()
  #id = 0

  constructor(program: Program) {
    this.#program = program
    createInterface({ input: program.child.stdout }).on('line', (line) => {
      this.all.push(JSON.parse(line))
      for (const look of this.#waiting) look()
    })
  }

  async call(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#id
    this.#program.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return (await this.until((line) => line['id'] === id))['result'] as Record<string, unknown>
  }

  /** The first line of a kind, as soon as there is one. */
  until(
    wanted: (line: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<Readonly<Record<string, unknown>>> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.all.find(wanted)
        if (found === undefined) return
        this.#waiting.delete(look)
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  pushed(): unknown[] {
    return this.all.filter((line) => 'method' in line)
  }
}

const TALKING = `${JSON.stringify({ ...EMBEDDED, log: { level: 'debug' }, admin: { port: 0 } })}\n`

describe.each([
  ['a gateway', ['stdio', '--config', 'gateway.yaml']],
  ['a store', ['store', '--path', 'a.db', '--stdio']],
])('over stdio: %s', (_, args) => {
  const start = () => {
    const cwd = emptyFolder()
    fileIn(cwd, 'gateway.yaml', TALKING)
    const program = new Program(args, { cwd })
    return { program, lines: new Lines(program) }
  }
  const remember = async (lines: Lines, content: string) => {
    const { ids } = await lines.call('memory/remember', { records: [{ content }] })
    return (ids as string[])[0]
  }

  test(`events are pushed from subscribe to unsubscribe, each once, and polled as well ${meets('4.13/told', '4.13/opt-in', '4.13/ends', '4.13/one-log', '8/no-requests')}`, async () => {
    const { program, lines } = start()
    expect((await lines.call('memory/describe'))['events']).toEqual({ push: true })
    const { cursor } = await lines.call('memory/events')
    const before = await remember(lines, 'before')
    expect(await lines.call('memory/events/subscribe')).toEqual({ subscribed: true })
    const ids = [await remember(lines, 'one'), await remember(lines, 'two')]
    await lines.call('memory/forget', { ids })
    await lines.until(({ params }) => (params as { kind?: string })?.kind === 'forgotten')
    expect(await lines.call('memory/events/unsubscribe')).toEqual({ subscribed: false })
    await remember(lines, 'after')
    const { events } = (await lines.call('memory/events', { cursor })) as { events: object[] }
    expect(events).toHaveLength(5)
    expect(events[0]).toMatchObject({ kind: 'written', id: before })
    const pushed = events.slice(1, 4)
    expect(pushed).toMatchObject([{ id: ids[0] }, { id: ids[1] }, { kind: 'forgotten', count: 2 }])
    expect(lines.pushed()).toEqual(
      pushed.map((params) => ({ jsonrpc: '2.0', method: 'memory/event', params })),
    )
    program.child.stdin.end()
    expect((await program.ended()).code).toBe(0)
  })

  test(`only messages are on stdout, whatever there is to log ${meets('8.2/stdout', '8.2/stderr', '8.2/one-line', '8.2/end')}`, async () => {
    const { program, lines } = start()
    await lines.call('memory/describe')
    await remember(lines, 'two\nlines\r\n')
    program.child.stdin.write('no JSON\n\n[]\n')
    program.child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', method: 'memory/nothing' })}\n`)
    const { code, stderr } = await program.ended()
    expect(code).toBe(0)
    expect(lines.all.map(({ id, error }) => [id, (error as { code?: number })?.code])).toEqual([
      [1, undefined],
      [2, undefined],
      [null, -32700],
      [null, -32600],
    ])
    expect(stderr.split('\n').filter((line) => line.includes('"jsonrpc"'))).toEqual([])
    if (args[0] === 'stdio') expect(stderr).toContain('memory/remember')
  })
})
