import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, textOf } from './subject.js'

const DESCRIBE = '"method":"memory/describe"'
const DEEP = `${'['.repeat(200)}${']'.repeat(200)}`

const REFUSED: readonly (readonly [string, number, unknown])[] = [
  ['[]', -32600, null],
  ['[{}]', -32600, null],
  [`[{"jsonrpc":"2.0","id":1,${DESCRIBE}}]`, -32600, null],
  ['[{"a":1,"a":2}]', -32600, null],
  ['5', -32600, null],
  ['{"id":7}', -32600, 7],
  [`{"jsonrpc":"1.0","id":7,${DESCRIBE}}`, -32600, 7],
  ['{"jsonrpc":"2.0","id":7}', -32600, 7],
  ['{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7],
  [`{"jsonrpc":"2.0","id":{},${DESCRIBE}}`, -32600, null],
  ['not json', -32700, null],
  ['{"jsonrpc":"2.0",', -32700, null],
  [`{"jsonrpc":"2.0","id":7,${DESCRIBE},"params":[]}`, -32602, 7],
  [`{"jsonrpc":"2.0","id":7,${DESCRIBE},"params":"x"}`, -32602, 7],
  [`{"jsonrpc":"2.0","id":7,${DESCRIBE},"params":{"a":1,"a":2}}`, -32602, 7],
  [`{"jsonrpc":"2.0","id":7,${DESCRIBE},"params":{"a":"\\ud800"}}`, -32602, 7],
  [`{"jsonrpc":"2.0","id":7,${DESCRIBE},"params":{"a":${DEEP}}}`, -32602, 7],
]

/** JSON-RPC as every binding carries it (§7, §8). */
export function describeWire({ client, mark }: Bench): void {
  describe('on the wire', () => {
    test.each(REFUSED)(
      `%s is answered with %d ${meets('8/no-batch', '7/parse-error', '7/invalid-request')}`,
      async (text, code, id) => {
        const reply = JSON.parse((await client().send(text)) ?? 'null')
        expect(reply).toMatchObject({ jsonrpc: '2.0', id, error: { code } })
        expect(typeof reply.error.message).toBe('string')
        expect(reply).not.toHaveProperty('result')
      },
    )

    test.each(['1', '1.0', '-0', '9007199254740993', '"text"', '"\\u0061"', '""'])(
      'an answer bears the id to the letter: %s',
      async (id) => {
        const reply = await client().send(`{"jsonrpc":"2.0","id":${id},${DESCRIBE}}`)
        expect(reply).toContain(`"id":${id},`)
        expect(JSON.parse(reply ?? '')).toHaveProperty('result.protocol')
      },
    )

    test(`a reply is one line ${meets('8.2/one-line')}`, async () => {
      const id = mark()
      await client().call('memory/remember', { records: [{ id, content: 'a\nb\r\nc' }] })
      const text = textOf({ jsonrpc: '2.0', id: 1, method: 'memory/timeline', params: {} })
      expect(await client().send(text)).not.toMatch(/[\r\n]/)
    })

    test.each([
      ['one that fails', 'memory/recall', { limit: -1 }],
      ['one of no method', 'memory/nothing', {}],
      ['one of an undeclared capability', 'memory/summarize', {}],
      ['a good one', 'memory/describe', {}],
    ])('a notification is not answered: %s', async (_, method, params) => {
      expect(await client().send(textOf({ jsonrpc: '2.0', method, params }))).toBeUndefined()
    })

    test('two hundred calls at once get each its own answer', async () => {
      const mine = client()
      const prefix = mark()
      const writes = Array.from({ length: 200 }, (_, n) =>
        mine.call('memory/remember', { records: [{ id: `${prefix}-${n}`, content: `${n}` }] }),
      )
      const answers = await Promise.all(writes)
      expect(answers.map(({ ids }) => ids[0])).toEqual(answers.map((_, n) => `${prefix}-${n}`))
    })
  })
}
