import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isMethod, SPECS } from '../../src/protocol/methods.js'
import { meets } from '../support/meets.js'
import { Client, createMarks, type Open, type Subject, type Traits } from './subject.js'

/** What a read-only memory has to hold when it is opened, written for anna in this order. */
export const SEED = ['the first of three', 'the second, about herons', 'the third'] as const

const WRITES: readonly (readonly [string, readonly unknown[]])[] = [
  ['memory/remember', [{ records: [{ content: 'x' }] }, {}, { records: [] }, { records: 5 }, [1]]],
  ['memory/forget', [{ query: 'heron' }, {}, { ids: [] }, { ids: 5 }, { tier: 'nowhere' }, 'x']],
  ['memory/promote', [{ ids: ['a'], tier: 'nowhere' }, {}, { ids: 5 }]],
  ['memory/consolidate', [{}, undefined, 5]],
  ['memory/reinforce', [{ ids: ['a'] }, {}, { ids: 5 }]],
  ['memory/session/close', [{ session: 's' }, {}, { session: 5 }]],
  ['memory/summarize', [{ query: 'heron' }, {}, { query: 'heron', into: 'nowhere' }]],
]

function isDeclared(method: string, { capabilities }: Traits): boolean {
  return isMethod(method) && capabilities.includes(SPECS[method].capability)
}

/** Holds a memory that takes no writes to §2.1. */
export function describeReadOnlyMemory(name: string, open: Open, traits: Traits): void {
  describe(name, () => {
    let subject: Subject | undefined
    const newId = createMarks('request')
    beforeAll(async () => {
      subject = await open()
    }, 60_000)
    afterAll(() => subject?.close(), 60_000)
    const client = () => {
      if (subject === undefined) throw new Error(`${name} is not open`)
      return new Client({ subject, traits, owner: 'anna', newId })
    }

    const writes = WRITES.filter(([method]) => isDeclared(method, traits))
    test.each(writes)(
      `%s is -32004 before any other check ${meets('2.1/writes-refused', '2.1/all-or-none', '7/read-only', '4.15/read-only')}`,
      async (method, all) => {
        for (const params of all) expect(await client().code(method, params)).toBe(-32004)
      },
    )

    test(`everything else is answered, and nothing has changed ${meets('2.1/reads-answered')}`, async () => {
      const told = await client().call('memory/describe')
      expect(told.capabilities).toEqual(traits.capabilities)
      expect(told.methods).toContain('memory/remember')
      const { records } = await client().call('memory/timeline')
      expect(records.map(({ content }) => content)).toEqual(SEED)
      const recalled = await client().call('memory/recall', { query: 'heron', limit: 1 })
      expect(recalled.records.map(({ content }) => content)).toEqual([SEED[1]])
      expect(await client().code('memory/recall', { limit: -1 })).toBe(-32602)
      const summarizing = isDeclared('memory/summarize', traits) ? -32004 : -32003
      expect(await client().code('memory/summarize', {})).toBe(summarizing)
      if (isDeclared('memory/reinforce', traits)) {
        const again = await client().call('memory/timeline')
        expect(again.records).toEqual(records)
      }
    })
  })
}
