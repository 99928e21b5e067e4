import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkParams } from '../../../src/protocol/checks.js'
import type { A2mError } from '../../../src/protocol/errors.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { GATEWAY_ROLE, type Memory, type Scope } from '../../../src/protocol/memory.js'
import { METHOD_NAMES, type Method, type ParamsOf } from '../../../src/protocol/methods.js'

import { type Owned, type OwnerMismatch, ownerOf, withScope } from '../../../src/protocol/scope.js'
import { contextWithin } from '../../support/contexts.js'
import { createRecorder } from '../../support/recorder.js'

const ALL: Scope = { kind: 'all' }
const OWNERLESS: Scope = { kind: 'ownerless' }
const ANNA: Scope = { kind: 'owners', owners: ['anna'] }
const BOTH: Scope = { kind: 'owners', owners: ['anna', 'ben'] }

interface Setting {
  readonly scope: Scope
  readonly mismatch?: OwnerMismatch
  readonly roles?: readonly string[]
}

/** The params that reach the inner memory, or the code of the refusal. */
async function resolved<M extends Method>(
  method: M,
  params: ParamsOf<M>,
  { scope, mismatch = 'deny', roles = [] }: Setting,
): Promise<Readonly<Record<string, unknown>> | number> {
  const { memory, seen } = createRecorder()
  const context = { ...contextWithin(1000), caller: { name: 'x', roles, scope } }
  try {
    await withScope(memory, mismatch).call(method, params, context)
  } catch (thrown) {
    return (thrown as A2mError).code
  }
  return seen[0]?.params ?? {}
}

async function ownerFor<M extends Method>(method: M, params: ParamsOf<M>, setting: Setting) {
  const result = await resolved(method, params, setting)
  return typeof result === 'number' ? result : ownerOf(result as Owned)
}

const NAMING = [
  'memory/describe',
  'memory/recall',
  'memory/timeline',
  'memory/forget',
  'memory/session/list',
  'memory/events',
  'memory/events/subscribe',
  'memory/summarize',
] as const

describe.each(NAMING)('%s', (method) => {
  test.each<[string, Setting, string | undefined, unknown]>([
    ['all, none named', { scope: ALL }, undefined, undefined],
    ['all, anyone named', { scope: ALL }, 'zoe', 'zoe'],
    ['one, none named', { scope: ANNA }, undefined, 'anna'],
    ['one, that named', { scope: ANNA }, 'anna', 'anna'],
    ['one, another named', { scope: ANNA }, 'ben', -32005],
    ['one, another ignored', { scope: ANNA, mismatch: 'ignore' }, 'ben', 'anna'],
    ['several, one named', { scope: BOTH }, 'ben', 'ben'],
    ['several, none named', { scope: BOTH }, undefined, -32602],
    ['several, another named', { scope: BOTH }, 'zoe', -32005],
    ['several, another ignored', { scope: BOTH, mismatch: 'ignore' }, 'zoe', -32602],
    ['ownerless, none named', { scope: OWNERLESS }, undefined, null],
    ['ownerless, anyone named', { scope: OWNERLESS }, 'zoe', null],
  ])('scope %s', async (_, setting, owner, wanted) => {
    const params = owner === undefined ? {} : { owner }
    const ofAll = method === 'memory/describe' && setting.scope === BOTH && owner === undefined
    expect(await ownerFor(method, params, setting)).toBe(ofAll ? 'anna' : wanted)
  })
})

test('who may act for several owners and names none is told of all of theirs together', async () => {
  const seen: (string | undefined)[] = []
  const inner: Memory = {
    call(method, params, context) {
      const { memory } = createRecorder()
      if (method !== 'memory/describe') return memory.call(method, params, context)
      const { owner } = params as ParamsOf<'memory/describe'>
      seen.push(owner)
      const tiers = [
        { name: 'a', count: owner === 'anna' ? 2 : 3, capacity: 0 },
        { name: 'b', count: 1, capacity: 0, ...(owner === 'ben' ? { stale: true } : {}) },
      ]
      return memory.call(method, params, context).then((result) => ({ ...result, tiers }))
    },
    close: () => Promise.resolve(),
  }
  const context = { ...contextWithin(1000), caller: { name: 'x', roles: [], scope: BOTH } }
  const { tiers } = await withScope(inner, 'deny').call('memory/describe', {}, context)
  expect(seen).toEqual(['anna', 'ben'])
  expect(tiers).toEqual([
    { name: 'a', count: 5, capacity: 0 },
    { name: 'b', count: 2, capacity: 0, stale: true },
  ])
  await withScope(inner, 'deny').call('memory/describe', { owner: 'ben' }, context)
  expect(seen).toEqual(['anna', 'ben', 'ben'])
})

describe.each(['memory/promote', 'memory/consolidate', 'memory/reinforce'] as const)(
  '%s',
  (method) => {
    const params = { ids: ['a'], tier: 't' }

    test('has its owner from the scope alone', async () => {
      expect(await ownerFor(method, params, { scope: ANNA })).toBe('anna')
      expect(await ownerFor(method, params, { scope: OWNERLESS })).toBeNull()
      expect(await ownerFor(method, params, { scope: ALL })).toBeUndefined()
    })

    test('or from a gateway, within its scope', async () => {
      const named = { ...params, [EXTENSION]: { owner: 'ben' } }
      const roles = [GATEWAY_ROLE]
      expect(await ownerFor(method, named, { scope: ALL, roles })).toBe('ben')
      expect(await ownerFor(method, named, { scope: BOTH, roles })).toBe('ben')
      expect(await ownerFor(method, named, { scope: ANNA, roles })).toBe(-32005)
      expect(await ownerFor(method, named, { scope: ANNA })).toBe('anna')
      const ownerless = { ...params, [EXTENSION]: { owner: null } }
      expect(await ownerFor(method, ownerless, { scope: ALL, roles })).toBeNull()
    })
  },
)

describe('memory/remember', () => {
  const owners = async (params: ParamsOf<'memory/remember'>, setting: Setting) => {
    const result = await resolved('memory/remember', params, setting)
    if (typeof result === 'number') return result
    expect(result['owner']).toBeUndefined()
    return (result['records'] as { owner?: string }[]).map(({ owner }) => owner)
  }
  const records = [{ content: 'a' }, { content: 'b', owner: 'ben' }]

  test.each<[string, Setting, string | undefined, unknown]>([
    ['all', { scope: ALL }, undefined, [undefined, 'ben']],
    ['all with a default', { scope: ALL }, 'zoe', ['zoe', 'ben']],
    ['both with a default', { scope: BOTH }, 'anna', ['anna', 'ben']],
    ['both without', { scope: BOTH }, undefined, -32602],
    ['anna', { scope: ANNA }, undefined, -32005],
    ['anna, ignoring', { scope: ANNA, mismatch: 'ignore' }, 'zoe', ['anna', 'anna']],
    ['ownerless', { scope: OWNERLESS }, 'zoe', [undefined, undefined]],
  ])('scope %s', async (_, setting, owner, wanted) => {
    expect(await owners({ records, owner }, setting)).toEqual(wanted)
  })

  test('a gateway may carry, but not name an owner beside its scope', async () => {
    const carried = [null, { created_at: '2026-07-28T10:15:30.123Z' }]
    const params = { records: [{ content: 'a' }], [EXTENSION]: { owner: 'ben', carried } }
    const setting = { scope: ANNA, roles: [GATEWAY_ROLE] }
    expect(await resolved('memory/remember', params, setting)).toBe(-32005)
    const free = await resolved('memory/remember', params, { ...setting, scope: ALL })
    expect(free).toMatchObject({ records: [{ owner: 'ben' }], [EXTENSION]: { carried } })
    expect(free).not.toMatchObject({ [EXTENSION]: { owner: 'ben' } })
  })
})

describe('an owner in where', () => {
  test.each([
    ['ben', -32005],
    [['anna', 'ben'], -32005],
    ['anna', 'anna'],
    [['anna', null], 'anna'],
    [null, 'anna'],
  ])('%j', async (owner, wanted) => {
    for (const method of [
      'memory/recall',
      'memory/timeline',
      'memory/forget',
      'memory/summarize',
    ] as const) {
      expect(await ownerFor(method, { where: { owner } }, { scope: ANNA })).toBe(wanted)
      expect(
        await ownerFor(method, { where: { owner } }, { scope: ANNA, mismatch: 'ignore' }),
      ).toBe('anna')
    }
  })
})

const owner = fc.constantFrom('anna', 'ben', 'zoe', '__proto__')
const scopes: fc.Arbitrary<Scope> = fc.oneof(
  fc.constant(OWNERLESS),
  fc.uniqueArray(owner, { minLength: 1, maxLength: 3 }).map(
    ([first = 'anna', ...rest]): Scope => ({
      kind: 'owners',
      owners: [first, ...rest],
    }),
  ),
)
const anyParams = fc.record(
  {
    owner,
    session: fc.constant('s'),
    key: fc.constant('k'),
    ids: fc.constant(['a']),
    tier: fc.constant('t'),
    records: fc.array(
      fc.record({ content: fc.constant('c'), owner }, { requiredKeys: ['content'] }),
      { minLength: 1, maxLength: 3 },
    ),
    where: fc.record({ owner: fc.oneof(owner, fc.array(owner)) }, { requiredKeys: [] }),
    [EXTENSION]: fc.record({ owner: fc.option(owner) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['session', 'key', 'ids', 'tier', 'records'] },
)

/** Whose records a call is about as it reaches the memory: each entry's owner, or the one of the call. */
function ownersIn(method: Method, params: Readonly<Record<string, unknown>>): unknown[] {
  if (method === 'memory/events/unsubscribe') return []
  if (method !== 'memory/remember') return [ownerOf(params)]
  return (params['records'] as Owned[]).map((entry) => entry.owner ?? null)
}

/** The names of owners that stand in the params; what a `where` says can only narrow. */
function namesIn(params: Readonly<Record<string, unknown>>): unknown[] {
  const entries = (params['records'] ?? []) as Owned[]
  const extension = params[EXTENSION] as Owned | undefined
  const all = [params['owner'], extension?.owner, ...entries.map((entry) => entry.owner)]
  return all.filter((owner) => owner !== undefined && owner !== null)
}

test('nothing that reaches the memory names an owner outside the scope', async () => {
  let reached = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...METHOD_NAMES),
      anyParams,
      scopes,
      fc.constantFrom<OwnerMismatch>('deny', 'ignore'),
      fc.constantFrom<readonly string[]>([], ['agent'], [GATEWAY_ROLE]),
      async (method, params, scope, mismatch, roles) => {
        const checked = checkParams(method, params)
        const result = await resolved(method, checked, { scope, mismatch, roles })
        if (typeof result === 'number') {
          expect([-32005, -32602]).toContain(result)
          return
        }
        reached++
        const allowed: readonly unknown[] = scope.kind === 'owners' ? scope.owners : [null]
        expect(allowed).toEqual(expect.arrayContaining(ownersIn(method, result)))
        expect(allowed).toEqual(expect.arrayContaining(namesIn(result)))
      },
    ),
    { numRuns: 1000 },
  )
  expect(reached).toBeGreaterThan(200)
})

test('of the extension of a caller that is no gateway nothing is left', async () => {
  const carried = [{ created_at: '2020-01-01T00:00:00.000Z' }]
  for (const method of METHOD_NAMES) {
    for (const scope of [ALL, ANNA, OWNERLESS]) {
      const params = { ids: ['a'], tier: 't', key: 'k', session: 's', records: [{ content: 'c' }] }
      const named = { ...params, [EXTENSION]: { owner: 'ben', carried } }
      const result = await resolved(method, checkParams(method, named), { scope })
      expect(result).toEqual(await resolved(method, checkParams(method, params), { scope }))
    }
  }
})

test('unsubscribing needs no owner', async () => {
  expect(await resolved('memory/events/unsubscribe', {}, { scope: BOTH })).toEqual({})
})
