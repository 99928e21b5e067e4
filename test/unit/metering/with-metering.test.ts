import { describe, expect, test } from 'vitest'
import { ownerOfCall } from '../../../src/metering/whose.js'
import { withMetering } from '../../../src/metering/with-metering.js'
import { A2mError } from '../../../src/protocol/errors.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import type { Caller, Scope } from '../../../src/protocol/memory.js'
import type { Served } from '../../../src/protocol/serve.js'
import type { Usage } from '../../../src/protocol/usage.js'
import { contextWithin } from '../../support/contexts.js'

const callerOf = (scope: Scope, ...roles: string[]): Caller => ({ name: 'c', roles, scope })
const ALL: Scope = { kind: 'all' }
const ONE: Scope = { kind: 'owners', owners: ['a'] }
const TWO: Scope = { kind: 'owners', owners: ['a', 'b'] }

describe('whose records a call is about', () => {
  test.each([
    ['the one that the caller may act for', ONE, {}, 'a'],
    ['that one, whoever is named', ONE, { owner: 'b' }, 'a'],
    ['nobody’s, to whom has no name', { kind: 'ownerless' } as const, { owner: 'b' }, null],
    ['the one that is named', ALL, { owner: 'b' }, 'b'],
    ['the one that is named, among several', TWO, { owner: 'b' }, 'b'],
    ['no one’s in particular, where a foreign one is named', TWO, { owner: 'x' }, undefined],
    ['anyone’s, where none is named', ALL, {}, undefined],
  ])('%s', (_, scope, params, owner) => {
    expect(ownerOfCall('memory/recall', params, callerOf(scope))).toBe(owner)
  })

  test.each([
    ['of all entries, where it is the same', [{ owner: 'x' }, { owner: 'x' }], undefined, 'x'],
    ['of the call, where entries name none', [{}, {}], 'y', 'y'],
    ['of nobody, where nobody is named', [{}], undefined, null],
    ['of several', [{ owner: 'x' }, {}], 'y', undefined],
  ])('a batch is %s', (_, owners, owner, expected) => {
    const records = owners.map((whose) => ({ content: 'c', ...whose }))
    const params = { records, ...(owner === undefined ? {} : { owner }) }
    expect(ownerOfCall('memory/remember', params, callerOf(ALL))).toBe(expected)
  })

  test('a gateway may name it in the extension, and nobody else', () => {
    const params = { ids: ['1'], [EXTENSION]: { owner: null } }
    expect(ownerOfCall('memory/reinforce', params, callerOf(ALL, 'gateway'))).toBeNull()
    expect(ownerOfCall('memory/reinforce', params, callerOf(ALL))).toBeUndefined()
  })
})

describe('a metered memory', () => {
  const AT = '2026-01-01T00:00:00.000Z'
  const answering = (answer: () => unknown): Served => ({
    refusal: () => undefined,
    recognised: (_method, params) => params,
    call: async () => answer() as never,
    close: async () => {},
  })
  const tiers = () => [{ name: 'working' }, { name: 'semantic' }]

  async function used(served: Served, params: object): Promise<Usage[]> {
    const told: Usage[] = []
    const context = {
      ...contextWithin(1000),
      caller: callerOf(ONE),
      used: (u: Usage) => told.push(u),
    }
    await withMetering(served, { tiers })
      .call('memory/remember', params as never, context)
      .catch(() => {})
    return told
  }

  test('tells once what a call has read and written', async () => {
    const records = [{ id: '1', content: 'abc', created_at: AT, tier: 'semantic' }]
    expect(
      await used(
        answering(() => ({ ids: ['1'], records })),
        { records },
      ),
    ).toEqual([
      {
        owner: 'a',
        tiers: ['semantic'],
        recordsIn: 1,
        recordsOut: 0,
        charactersIn: 3,
        charactersOut: 0,
        vectorsIn: 0,
        vectorsOut: 0,
      },
    ])
  })

  test('a call that failed has used nothing; of what it named, only tiers that there are are told', async () => {
    const failing = answering(() => {
      throw new A2mError('UNKNOWN_TIER', 'no')
    })
    const records = ['semantic', 'any text at all'].map((tier) => ({ content: 'abc', tier }))
    expect(await used(failing, { records })).toMatchObject([
      { owner: 'a', tiers: ['semantic'], recordsIn: 0, charactersIn: 0 },
    ])
  })

  test('entries that were there already are not written, and their tiers were named all the same', async () => {
    const served = answering(() => ({ ids: ['1', '2'] }))
    const retried: Served = {
      ...served,
      call(method, params, context) {
        context.existed?.([0])
        return served.call(method, params, context)
      },
    }
    const records = [
      { id: '1', content: 'abc', tier: 'semantic', embedding: [1] },
      { id: '2', content: 'de' },
    ]
    expect(await used(retried, { records })).toMatchObject([
      { tiers: ['semantic', 'working'], recordsIn: 1, charactersIn: 2, vectorsIn: 0 },
    ])
    const done: unknown[] = []
    const metered = withMetering(retried, {
      tiers,
      done: (_method, params) => done.push(params),
    })
    await metered.call('memory/remember', { records }, contextWithin(1000))
    expect(done).toEqual([{ records: [records[1]] }])
  })

  test('entries without ids of the caller are asked nobody about', async () => {
    let asked: unknown
    const served: Served = {
      ...answering(() => ({})),
      async call(_method, _params, context) {
        asked = context.existed
        return { ids: ['1'] } as never
      },
    }
    await used(served, { records: [{ content: 'abc' }] })
    expect(asked).toBeUndefined()
    await used(served, { records: [{ content: 'abc' }, { id: 'x', content: 'y' }] })
    expect(asked).toBeDefined()
  })

  test.each([
    ['one that was written', 1, { owner: 'b', recordsIn: 1, charactersIn: 2, recordsOut: 1 }],
    ['nothing to summarize', 0, { owner: undefined, recordsIn: 0, charactersIn: 0 }],
  ])('a summary: %s', async (_, written, expected) => {
    const summary = { id: '1', content: 'é𝒳', created_at: AT, tier: 'semantic', owner: 'b' }
    const records = written === 1 ? [summary] : []
    const told: Usage[] = []
    const context = {
      ...contextWithin(1000),
      caller: callerOf(ALL),
      used: (u: Usage) => told.push(u),
    }
    const metered = withMetering(
      answering(() => ({ records, read: 3, written })),
      { tiers },
    )
    await metered.call('memory/summarize', { into: 'semantic' }, context)
    expect(told).toMatchObject([{ tiers: ['semantic'], ...expected }])
  })

  test('refuses while it is told to, before anything else does', () => {
    const reason = new A2mError('INTERNAL_ERROR', 'no room')
    let refusing = true
    const metered = withMetering(
      { ...answering(() => ({})), refusal: () => new A2mError('READ_ONLY', 'inner') },
      { tiers, refusal: () => (refusing ? reason : undefined) },
    )
    expect(metered.refusal('memory/recall', contextWithin(1000))).toBe(reason)
    refusing = false
    expect(metered.refusal('memory/recall', contextWithin(1000))?.message).toBe('inner')
  })

  test('tells of what was done, and not of what failed', async () => {
    const done: string[] = []
    let failing = false
    const served = answering(() => {
      if (failing) throw new Error('no')
      return { ids: [] }
    })
    const metered = withMetering(served, { tiers, done: (method) => done.push(method) })
    const call = () => metered.call('memory/remember', { records: [] }, contextWithin(1000))
    await call()
    failing = true
    await expect(call()).rejects.toThrow('no')
    expect(done).toEqual(['memory/remember'])
  })
})
