import { describe, expect, test } from 'vitest'
import { JsonText } from '../../src/protocol/json.js'
import { meets } from '../support/meets.js'
import type { Bench } from './subject.js'

/** What is written for the table below, by name. */
const ENTRIES = {
  user: { role: 'user', metadata: '{"n":1.0,"flag":true,"tags":["a","b"],"role":"hidden"}' },
  tool: {
    role: 'tool',
    group: 'g',
    metadata: '{"n":2,"flag":false,"none":null,"o":{"x":{"y":1}}}',
  },
  bare: { metadata: '{"big":9007199254740993,"constructor":"c","1":"one"}' },
}
type Name = keyof typeof ENTRIES

const CASES: readonly (readonly [string, readonly Name[]])[] = [
  ['{}', ['user', 'tool', 'bare']],
  ['{"role":"user"}', ['user']],
  ['{"role":["user","tool"]}', ['user', 'tool']],
  ['{"role":[]}', []],
  ['{"role":"hidden"}', []],
  ['{"role":null}', ['bare']],
  ['{"role":[null,"tool"]}', ['tool', 'bare']],
  ['{"group":"g"}', ['tool']],
  ['{"n":1}', ['user']],
  ['{"n":[1.0,2.0]}', ['user', 'tool']],
  ['{"n":"1"}', []],
  ['{"n":null}', ['bare']],
  ['{"none":null}', ['user', 'tool', 'bare']],
  ['{"flag":true}', ['user']],
  ['{"flag":1}', []],
  ['{"tags":["a","b"]}', ['user']],
  ['{"o":{"x":{"y":1.0}}}', ['tool']],
  ['{"o":{"x":{}}}', []],
  ['{"1":"one"}', ['bare']],
  ['{"constructor":"c"}', ['bare']],
  ['{"toString":null}', ['user', 'tool', 'bare']],
  ['{"__proto__":null}', ['user', 'tool', 'bare']],
  ['{"hasOwnProperty":"x"}', []],
  ['{"role":"user","n":2}', []],
  ['{"role":"tool","n":2,"flag":false}', ['tool']],
  ['{"content":"user"}', ['user']],
  ['{"created_at":"2001-01-01T00:00:00.000Z"}', []],
]

/** The one meaning of `where` (§5.2), which every method that takes it shares. */
export function describeWhere({ client, mark }: Bench): void {
  describe('where', () => {
    let own: string | undefined
    const setUp = async (): Promise<string> => {
      if (own !== undefined) return own
      own = mark()
      const records = Object.entries(ENTRIES).map(([name, { metadata, ...entry }]) => ({
        ...entry,
        id: `${own}-${name}`,
        content: name,
        metadata: new JsonText(metadata),
      }))
      await client().call('memory/remember', { records })
      return own
    }

    test.each(CASES)(`%s ${meets('5.2/where', '5.2/any-of')}`, async (text, names) => {
      const prefix = await setUp()
      const all = Object.keys(ENTRIES).map((name) => `${prefix}-${name}`)
      const where = new JsonText(
        text === '{}'
          ? `{"id":${JSON.stringify(all)}}`
          : `{"id":${JSON.stringify(all)},${text.slice(1)}`,
      )
      const wanted = names.map((name) => `${prefix}-${name}`).sort()
      for (const method of ['memory/timeline', 'memory/recall'] as const) {
        const { records } = await client().call(method, { where, limit: 0 })
        expect(records.map(({ id }) => id).sort()).toEqual(wanted)
      }
    })

    test.each(['9007199254740993', '[1,-9007199254740993]', '1e400'])(
      'refuses a number that it could not tell from its neighbours: %s',
      async (number) => {
        const where = new JsonText(`{"big":${number}}`)
        for (const method of ['memory/timeline', 'memory/recall', 'memory/forget']) {
          expect(await client().code(method, { where })).toBe(-32602)
        }
      },
    )

    test(`forgets what it would have shown and nothing else ${meets('5.2/where')}`, async () => {
      const prefix = mark()
      const records = ['a', 'b', 'c'].map((name) => ({
        id: `${prefix}-${name}`,
        content: name,
        metadata: { prefix, name },
      }))
      await client().call('memory/remember', { records })
      const gone = { where: { prefix, name: ['a', 'c', 'nothing'] } }
      expect(await client().call('memory/forget', gone)).toEqual({ forgotten: 2 })
      const left = await client().call('memory/timeline', { where: { prefix } })
      expect(left.records.map(({ content }) => content)).toEqual(['b'])
    })
  })
}
