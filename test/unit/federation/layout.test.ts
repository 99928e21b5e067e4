import { describe, expect, test } from 'vitest'
import type { FederationConfig, TierConfig } from '../../../src/config/config.js'
import { type Layout, layOut } from '../../../src/federation/layout.js'
import { Fault } from '../../../src/protocol/errors.js'
import type { Upstream } from '../../../src/upstreams/upstream.js'
import { tierConfig } from '../../support/federation.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'
import { readUpstream, upstreamOver } from '../../support/upstreams.js'

const FULL = { capabilities: ['core', 'tiers', 'scopes'] }
const RECALL: FederationConfig['recall'] = {
  limit: 8,
  window: 20,
  k: 60,
  voters: { lexical: 1, vector: 1 },
  onFailure: 'partial',
}

function laidOut(upstreams: readonly Upstream[], tiers: readonly TierConfig[] = []): Layout {
  const config = { upstreams: upstreams.map((upstream) => upstream.config), tiers, recall: RECALL }
  return layOut(config, upstreams)
}

const homes = ({ tiers }: Layout) => tiers.map(({ name, home }) => [name, home?.name])
const routes = ({ sources }: Layout) =>
  sources.map(({ name, tiers, writable, owners }) => [name, [...tiers], writable, owners])

describe('without configured tiers', () => {
  test("they are the upstreams' own, in their order, and a tierless upstream is one of its name", async () => {
    const layout = laidOut([
      await readUpstream('a', { ...FULL, tiers: ['working', 'episodic'] }),
      await readUpstream('b', {}),
    ])
    expect(homes(layout)).toEqual([
      ['working', 'a'],
      ['episodic', 'a'],
      ['b', 'b'],
    ])
    expect(routes(layout)).toEqual([
      ['a', ['working', 'episodic'], true, 'apart'],
      ['b', ['b'], true, 'common'],
    ])
    expect(layout.problems).toEqual([])
  })

  test("one name from two upstreams is the first's, and a problem that names both and the remedy", async () => {
    const layout = laidOut([
      await readUpstream('a', { ...FULL, tiers: ['t'] }),
      await readUpstream('b', { ...FULL, tiers: ['t', 'u'] }),
    ])
    expect(homes(layout)).toEqual([
      ['t', 'a'],
      ['u', 'b'],
    ])
    expect(layout.problems).toEqual([
      'tier "t" is declared by a and by b: name the tiers under "tiers" in the configuration',
    ])
  })

  test('an upstream that was never read is absent and undecided', async () => {
    const layout = laidOut([await readUpstream('a', {}), upstreamOver('b', new PlainMemory())])
    expect([...layout.absent]).toEqual([['b', 'has not described itself yet']])
    expect([...layout.undecided]).toEqual(['b'])
    expect(homes(layout)).toEqual([['a', 'a']])
  })
})

describe('with configured tiers', () => {
  test("a tier goes by the upstream's name for it; upstreams that nothing is mapped to are left out", async () => {
    const layout = laidOut(
      [
        await readUpstream('a', { ...FULL, tiers: ['skills', 'more'] }),
        await readUpstream('b', {}),
      ],
      [tierConfig('procedural', 'a', { upstreamTier: 'skills' })],
    )
    expect(routes(layout)).toEqual([['a', ['procedural'], true, 'apart']])
    expect(layout.sources[0]?.translation.tierName('skills')).toBe('procedural')
  })

  test('a tier that the upstream does not have is a problem, and has no home', async () => {
    const layout = laidOut(
      [await readUpstream('a', { ...FULL, tiers: ['x', 'procedural'] })],
      [tierConfig('x', 'a'), tierConfig('procedural', 'a', { upstreamTier: 'skills' })],
    )
    expect(layout.problems).toEqual(['tiers.procedural: upstream a has no tier "skills"'])
    expect(layout.tiers[1]).toMatchObject({
      home: undefined,
      homeless: 'upstream a has no tier "skills"',
    })
    expect(layout.tiers[0]?.home?.name).toBe('a')
  })

  test('an upstream without tiers serves one alone: the first that lives there', async () => {
    const layout = laidOut(
      [await readUpstream('a', {}), await readUpstream('b', {})],
      [tierConfig('t', 'b', { also: ['a'] }), tierConfig('u', 'a'), tierConfig('v', 'a')],
    )
    expect(homes(layout)).toEqual([
      ['t', 'b'],
      ['u', 'a'],
      ['v', undefined],
    ])
    expect(layout.problems).toEqual([
      'tiers.v: upstream a has no tiers and serves u alone',
      'tiers.t: upstream a has no tiers and serves u alone',
    ])
  })

  test('one tier of an upstream is one tier here: the one that lives there', async () => {
    const layout = laidOut(
      [
        await readUpstream('a', { ...FULL, tiers: ['t'] }),
        await readUpstream('b', { ...FULL, tiers: ['x'] }),
      ],
      [tierConfig('s', 'b', { upstreamTier: 'x', also: ['a'] }), tierConfig('t', 'a')],
    )
    expect(routes(layout)[0]).toEqual(['a', ['t'], true, 'apart'])
    const both = laidOut(
      [
        await readUpstream('a', { ...FULL, tiers: ['t'] }),
        await readUpstream('b', { ...FULL, tiers: ['t'] }),
      ],
      [tierConfig('s', 'b', { upstreamTier: 't', also: ['a'] }), tierConfig('t', 'a')],
    )
    expect(routes(both)[0]).toEqual(['a', ['t'], true, 'apart'])
    expect(both.problems).toEqual(['tiers.s: "t" of upstream a is another tier already'])
  })

  test.each([
    ["the upstream's name", 'old'],
    ["the gateway's", 'episodic'],
  ])(
    'a tier that is only read somewhere goes there by %s, and makes it no place to write to',
    async (_, has) => {
      const layout = laidOut(
        [
          await readUpstream('home', { ...FULL, tiers: ['old'] }),
          await readUpstream('archive', { ...FULL, tiers: [has] }),
        ],
        [tierConfig('episodic', 'home', { upstreamTier: 'old', also: ['archive'] })],
      )
      expect(routes(layout)).toEqual([
        ['home', ['episodic'], true, 'apart'],
        ['archive', ['episodic'], false, 'apart'],
      ])
      expect(layout.tiers[0]).toMatchObject({ upstreams: ['home', 'archive'] })
      expect(layout.sources[1]?.translation.tierName(has)).toBe('episodic')
    },
  )

  test('an upstream whose only tier of its own is missing is no place to write to', async () => {
    const layout = laidOut(
      [
        await readUpstream('a', { ...FULL, tiers: ['t'] }),
        await readUpstream('b', { ...FULL, tiers: ['t'] }),
      ],
      [tierConfig('t', 'b', { also: ['a'] }), tierConfig('u', 'a')],
    )
    expect(layout.sources[0]).toMatchObject({ name: 'a', writable: false })
  })
})

describe('why nothing can be written to a tier', () => {
  test.each([
    ['read-only', { readOnly: true }, {}, 'its upstream a is read-only'],
    ['configured so', {}, { access: 'read-only' }, 'its upstream a is read-only'],
    [
      'foreign ids',
      {},
      { ids: 'foreign' },
      'its upstream a numbers its records itself (ids: foreign)',
    ],
  ] as const)('%s', async (_, options, config, homeless) => {
    const layout = laidOut([await readUpstream('a', options, config)], [tierConfig('t', 'a')])
    expect(layout.tiers[0]).toMatchObject({ home: undefined, homeless })
  })

  test('an upstream that is not there keeps its tiers, and says why', async () => {
    const faulty = new Faulty(new PlainMemory())
    faulty.fault = () => new Fault('unreachable', 'connection refused')
    const upstream = upstreamOver('a', faulty)
    await upstream.refresh()
    const layout = laidOut([upstream], [tierConfig('t', 'a')])
    expect(layout.tiers[0]?.homeless).toBe('its upstream a cannot be used: connection refused')
  })

  test('so does one of another version, though it was read before', async () => {
    const inner = { current: new PlainMemory(FULL) }
    const upstream = upstreamOver('a', {
      call: (method, params) => inner.current.call(method, params),
      close: async () => {},
    })
    await upstream.refresh()
    inner.current = new PlainMemory({ protocol: 'a2m/0.2' })
    await upstream.refresh()
    const layout = laidOut([upstream], [tierConfig('t', 'a')])
    expect(layout.sources).toEqual([])
    expect([...layout.absent]).toEqual([['a', 'speaks a2m/0.2, not a2m/0.1']])
  })
})

describe('ids and owners of an upstream', () => {
  test.each([
    ['writable', {}, {}, 'x'],
    ['read-only', { readOnly: true }, {}, 'a:x'],
    ['read-only, and told otherwise', { readOnly: true }, { ids: 'own' }, 'x'],
    [
      'read-only and built in',
      { readOnly: true },
      { connect: { kind: 'store', path: '/a.db', tiers: [] } },
      'x',
    ],
  ] as const)('%s', async (_, options, config, shown) => {
    const layout = laidOut([await readUpstream('a', options, config)], [tierConfig('t', 'a')])
    expect(layout.sources[0]?.translation.shownId('x')).toBe(shown)
  })

  test.each([
    ['scopes', FULL, {}, 'apart'],
    ['no scopes', {}, {}, 'common'],
    ['scopes, and owner: none', FULL, { owner: 'none' }, 'common'],
    ['no scopes, and owner: parameter', {}, { owner: 'parameter' }, 'common'],
  ] as const)('%s', async (_, options, config, owners) => {
    const layout = laidOut(
      [await readUpstream('a', { ...options, tiers: ['t'] }, config)],
      [tierConfig('t', 'a')],
    )
    expect(layout.sources[0]?.owners).toBe(owners)
  })
})

test.each([
  ['a home', {}, [tierConfig('t', 'a')], true],
  ['read-only by configuration', { access: 'read-only' }, [tierConfig('t', 'a')], false],
  ['of foreign ids', { ids: 'foreign' }, [tierConfig('t', 'a')], false],
  ['only read', {}, [tierConfig('t', 'b', { also: ['a'] })], false],
] as const)(
  'an unread upstream that is %s may turn out writable or not',
  async (_, config, tiers, undecided) => {
    const unread = upstreamOver('a', new PlainMemory(), { config })
    const layout = laidOut([unread, await readUpstream('b', {})], tiers)
    expect([...layout.absent.keys()]).toEqual(['a'])
    expect(layout.undecided.has('a')).toBe(undecided)
  },
)
