import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  accessOf,
  allowsMethod,
  covers,
  type Grant,
  isUnder,
  type Place,
} from '../../../src/protocol/access.js'
import { isReadOnly, mayCall, Reach, reachFor } from '../../../src/protocol/access-reach.js'
import { METHOD_NAMES, type Method, SPECS } from '../../../src/protocol/methods.js'
import { accessBy, grant } from '../../support/grants.js'

const TIERS = ['working', 'semantic']
const UPSTREAMS = ['facts', 'vectors']
const KEYS = ['wf', 'wf/1', 'wf/1/x', 'wf/10', 'user']

function someOf<T>(...all: readonly T[]) {
  return fc.option(fc.subarray([...all], { minLength: 1 }), { nil: undefined })
}
const anyGrant: fc.Arbitrary<Grant> = fc
  .record({
    methods: someOf(...METHOD_NAMES),
    tiers: someOf(...TIERS),
    upstreams: someOf(...UPSTREAMS),
    keyPrefixes: someOf(...KEYS),
    access: fc.constantFrom('read' as const, 'write' as const),
  })
  .map(({ methods, tiers, upstreams, ...rest }) =>
    grant({
      ...rest,
      methods: methods && new Set(methods),
      tiers: tiers && new Set(tiers),
      upstreams: upstreams && new Set(upstreams),
    }),
  )
const anyMethod = fc.constantFrom(...METHOD_NAMES)
const anyPlace: fc.Arbitrary<Place> = fc.record({
  tier: fc.constantFrom(...TIERS),
  upstream: fc.constantFrom(...UPSTREAMS),
  key: fc.option(fc.constantFrom(...KEYS), { nil: undefined }),
})
const allowed = (grants: readonly Grant[], method: Method, place: Place) =>
  reachFor(grants, method)?.covers(place) ?? true

describe('a decision', () => {
  test('is one role by itself: it is never put together from two', () => {
    fc.assert(
      fc.property(
        fc.array(anyGrant, { maxLength: 4 }),
        anyMethod,
        anyPlace,
        (grants, method, place) => {
          const alone = grants.some((one) => allowsMethod(one, method) && covers(one, place))
          expect(allowed(grants, method, place)).toBe(alone)
        },
      ),
    )
  })

  test('only widens with another role', () => {
    fc.assert(
      fc.property(
        fc.array(anyGrant, { maxLength: 3 }),
        anyGrant,
        anyMethod,
        anyPlace,
        (grants, more, method, place) => {
          if (!allowed(grants, method, place)) return
          expect(allowed([...grants, more], method, place)).toBe(true)
          expect(mayCall([...grants, more], method)).toBe(true)
        },
      ),
    )
  })

  test('a move takes one role that covers both ends', () => {
    const apart = new Reach([
      grant({ tiers: new Set(['working']) }),
      grant({ tiers: new Set(['semantic']) }),
    ])
    const both = new Reach([grant({ tiers: new Set(['working', 'semantic']) })])
    expect(apart.coversBoth({ tier: 'working' }, { tier: 'semantic' })).toBe(false)
    expect(both.coversBoth({ tier: 'working' }, { tier: 'semantic' })).toBe(true)
  })

  test.each<[string, Partial<Grant>[], Method, Place, boolean]>([
    [
      'a method of one role in a tier of another',
      [
        { methods: new Set(['memory/recall']), tiers: new Set(['working']) },
        { methods: new Set(['memory/timeline']), tiers: new Set(['semantic']) },
      ],
      'memory/recall',
      { tier: 'semantic' },
      false,
    ],
    [
      'writing by one role what another reads',
      [{ access: 'read' }, { access: 'write', tiers: new Set(['working']) }],
      'memory/remember',
      { tier: 'semantic' },
      false,
    ],
    [
      'a key of one role at an upstream of another',
      [
        { keyPrefixes: ['wf'], upstreams: new Set(['facts']) },
        { keyPrefixes: ['user'], upstreams: new Set(['vectors']) },
      ],
      'memory/fetch',
      { upstream: 'facts', key: 'user' },
      false,
    ],
    [
      'the same in one role',
      [{ keyPrefixes: ['user'], upstreams: new Set(['facts']) }],
      'memory/fetch',
      { upstream: 'facts', key: 'user' },
      true,
    ],
    [
      'a record without a key, whatever the prefixes',
      [{ keyPrefixes: ['user'] }],
      'memory/recall',
      { tier: 'working' },
      true,
    ],
    ['nothing at all', [], 'memory/recall', { tier: 'working' }, false],
  ])('%s', (_, grants, method, place, expected) => {
    expect(allowed(accessBy(...grants) ?? [], method, place)).toBe(expected)
  })
})

describe('prefixes are paths', () => {
  test.each<[string, string, boolean]>([
    ['wf/1', 'wf/1', true],
    ['wf/1/x', 'wf/1', true],
    ['wf/1/', 'wf/1', true],
    ['wf/1', 'wf/1/', true],
    ['wf/10', 'wf/1', false],
    ['wf', 'wf/1', false],
    ['', 'wf/1', false],
    ['WF/1', 'wf/1', false],
  ])('%s under %s: %s', (key, prefix, expected) => {
    expect(isUnder(key, [prefix])).toBe(expected)
  })
})

describe('roles', () => {
  const reader = grant({ role: 'reader', access: 'read' })
  const writer = grant({ role: 'writer' })
  const definitions = new Map([
    ['reader', reader],
    ['writer', writer],
  ])

  test('are labels where none is defined', () => {
    expect(accessOf(['reader'], undefined)).toBeUndefined()
    expect(mayCall(undefined, 'memory/forget')).toBe(true)
    expect(reachFor(undefined, 'memory/forget')).toBeUndefined()
    expect(isReadOnly(undefined)).toBe(false)
  })

  test('count once, in the order of their definitions, and not at all where they are not defined', () => {
    expect(accessOf(['writer', 'nobody', 'reader', 'writer'], definitions)).toEqual([
      reader,
      writer,
    ])
    expect(accessOf(['gateway', 'constructor'], definitions)).toEqual([])
  })

  test('of nobody let one describe, and nothing else', () => {
    const may = METHOD_NAMES.filter((method) => mayCall([], method))
    expect(may).toEqual(['memory/describe'])
    expect(isReadOnly([])).toBe(false)
  })

  test('that read take no writes, and everything else', () => {
    const may = METHOD_NAMES.filter((method) => mayCall([reader], method))
    expect(may).toEqual(METHOD_NAMES.filter((method) => SPECS[method].kind !== 'write'))
    expect(isReadOnly([reader])).toBe(true)
    expect(isReadOnly([reader, writer])).toBe(false)
  })

  test('that may subscribe may end it', () => {
    const pushed = grant({ methods: new Set(['memory/events', 'memory/events/subscribe']) })
    expect(mayCall([pushed], 'memory/events/unsubscribe')).toBe(true)
    expect(
      mayCall([grant({ methods: new Set(['memory/recall']) })], 'memory/events/unsubscribe'),
    ).toBe(false)
  })
})
