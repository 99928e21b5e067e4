import { describe, expect, test } from 'vitest'
import { CAPABILITIES, METHOD_NAMES, SPECS } from '../../src/protocol/methods.js'
import { meets } from '../support/meets.js'
import type { Bench } from './subject.js'

const ANY_PARAMS: readonly unknown[] = [
  undefined,
  {},
  { ids: 5, key: [], session: null },
  { key: 'k', session: 's', ids: ['a'], cursor: 'x', query: 'q' },
]

/** What a memory says of itself (§2, §4.1), and that it keeps to it. */
export function describeItself({ traits, client }: Bench): void {
  const declared = (name: string) => traits.capabilities.some((capability) => capability === name)
  const undeclared = METHOD_NAMES.filter((method) => !declared(SPECS[method].capability))

  describe('itself', () => {
    test(`tells its protocol, name, capabilities and methods ${meets('4.1/answer', '2/truthful', '2/core-methods')}`, async () => {
      const told = await client().call('memory/describe')
      expect(told.protocol).toBe('a2m/0.1')
      expect(told.name).not.toBe('')
      expect(told.capabilities).toEqual(CAPABILITIES.filter(declared))
      const methods = METHOD_NAMES.filter((method) => !undeclared.includes(method))
      expect([...told.methods].sort()).toEqual([...methods].sort())
    })

    test(`speaks this version and no other ${meets('4.1/no-pretence', '4.1/exact-minor', '7/protocol')}`, async () => {
      expect(await client().code('memory/describe', { protocol: 'a2m/0.1' })).toBeUndefined()
      for (const protocol of ['a2m/0.2', 'a2m/1.0', 'a2m/0.10', 'nonsense']) {
        expect(await client().code('memory/describe', { protocol })).toBe(-32007)
      }
      expect(await client().code('memory/describe', { protocol: 5 })).toBe(-32602)
    })

    test.each(undeclared)(
      `%s is of a capability that is not declared ${meets('2/undeclared', '2/undeclared-is-known', '7/capability')}`,
      async (method) => {
        for (const params of ANY_PARAMS) expect(await client().code(method, params)).toBe(-32003)
      },
    )

    test(`a method that does not exist is another matter ${meets('7/method-not-found')}`, async () => {
      for (const method of ['memory/nothing', 'describe', 'Memory/describe', 'toString', '']) {
        expect(await client().code(method)).toBe(-32601)
      }
    })

    test(`a selector of a capability that is not declared is refused ${meets('7/capability')}`, async () => {
      if (declared('keys')) return
      for (const method of ['memory/recall', 'memory/timeline', 'memory/forget']) {
        expect(await client().code(method, { key_prefix: 'a' })).toBe(-32003)
      }
    })

    test(`parameters that are not recognised are ignored, whatever they are ${meets('2/unknown-params', '4/by-name')}`, async () => {
      const params = { colour: 'red', '10': {}, ['__proto__x']: null, cursor: [], into: 5 }
      for (const method of ['memory/describe', 'memory/recall', 'memory/timeline']) {
        expect(await client().code(method, params)).toBeUndefined()
      }
    })

    test(`so are those of capabilities that are not declared ${meets('2/unknown-params', '4.16/undeclared')}`, async () => {
      const prompt = declared('prompt') ? {} : { prompt: 'yes' }
      const embeddings = declared('embeddings') ? {} : { embedding: 'x', embeddings: 1 }
      const told = await client().call('memory/recall', { query: 'x', ...prompt, ...embeddings })
      if (!declared('prompt')) expect(told).not.toHaveProperty('prompt')
    })
  })
}
