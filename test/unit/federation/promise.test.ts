import { expect, test } from 'vitest'
import type { TierConfig, UpstreamConfig } from '../../../src/config/config.js'
import { layOut } from '../../../src/federation/layout.js'
import { type Promised, promise } from '../../../src/federation/promise.js'
import { CAPABILITIES } from '../../../src/protocol/methods.js'
import type { Upstream } from '../../../src/upstreams/upstream.js'
import { recallConfig, tierConfig } from '../../support/federation.js'
import { meets } from '../../support/meets.js'
import { PlainMemory, type PlainOptions } from '../../support/plain-memory.js'
import { readUpstream, upstreamOver } from '../../support/upstreams.js'

type Made = readonly [
  name: string,
  options: PlainOptions | 'unread',
  config?: Partial<UpstreamConfig>,
]

const FULL = { capabilities: ['core', 'tiers', 'scopes'] }
const CORE = {}

async function promised(made: readonly Made[], tiers?: readonly TierConfig[]): Promise<Promised> {
  const upstreams: Upstream[] = []
  for (const [name, options, config = {}] of made) {
    upstreams.push(
      options === 'unread'
        ? upstreamOver(name, new PlainMemory(), { config })
        : await readUpstream(name, options, config),
    )
  }
  const configured = tiers ?? made.map(([name]) => tierConfig(name, name))
  const recall = recallConfig
  return promise(
    layOut(
      { upstreams: upstreams.map(({ config }) => config), tiers: configured, recall },
      upstreams,
    ),
  )
}

const full = (name: string): Made => [name, { ...FULL, tiers: [name] }]
const DOWN = 'has not described itself yet'

test.each<[string, Made[], { scopes: boolean; readOnly?: true; because?: string[] }]>([
  ['full and full', [full('a'), full('b')], { scopes: true }],
  [
    'full, and core only that is written to',
    [full('a'), ['b', CORE]],
    { scopes: false, because: ['b: does not declare scopes'] },
  ],
  [
    'full, and scopes that the configuration gives up',
    [full('a'), ['b', { ...FULL, tiers: ['b'] }, { owner: 'none' }]],
    { scopes: false, because: ['b: configured with owner: none'] },
  ],
  [
    'full, and core only that takes no writes',
    [full('a'), ['b', { readOnly: true }]],
    { scopes: true },
  ],
  [
    'full, and core only with access: read-only',
    [full('a'), ['b', CORE, { access: 'read-only' }]],
    { scopes: true },
  ],
  [
    'full, and core only with ids of its own',
    [full('a'), ['b', CORE, { ids: 'foreign' }]],
    { scopes: true },
  ],
  [
    'two that take it away are both named',
    [
      ['a', CORE],
      ['b', CORE],
    ],
    { scopes: false, because: ['a: does not declare scopes', 'b: does not declare scopes'] },
  ],
  [
    'all read-only are intersected',
    [
      ['a', { ...FULL, tiers: ['a'], readOnly: true }],
      ['b', { readOnly: true }],
    ],
    { scopes: false, readOnly: true, because: ['b: does not declare scopes'] },
  ],
  [
    'all read-only and scoped',
    [['a', { ...FULL, tiers: ['a'], readOnly: true }]],
    { scopes: true, readOnly: true },
  ],
  [
    'full, and one unread',
    [full('a'), ['b', 'unread']],
    { scopes: false, because: [`b: ${DOWN}`] },
  ],
  [
    'full, and one unread that is never written to',
    [full('a'), ['b', 'unread', { access: 'read-only' }]],
    { scopes: true },
  ],
  [
    'read-only, and one unread that may take writes',
    [
      ['a', { readOnly: true }],
      ['b', 'unread'],
    ],
    { scopes: false, because: ['a: does not declare scopes', `b: ${DOWN}`] },
  ],
  [
    'read-only, and one unread that is never written to',
    [
      ['a', { ...FULL, tiers: ['a'], readOnly: true }],
      ['b', 'unread', { access: 'read-only' }],
    ],
    { scopes: true, readOnly: true },
  ],
])('%s', async (_, made, { scopes, readOnly = false, because }) => {
  const { capabilities, withheld, readOnly: takesNone } = await promised(made)
  for (const own of ['core', 'tiers', 'summarize', 'prompt'] as const) {
    expect(capabilities).toContain(own)
  }
  expect(capabilities.has('scopes')).toBe(scopes)
  expect(withheld.get('scopes')).toEqual(because)
  expect(takesNone).toBe(readOnly)
})

test('what is not declared is withheld with a reason', async () => {
  const { capabilities, withheld } = await promised([full('a')])
  const undeclared = CAPABILITIES.filter((capability) => !capabilities.has(capability))
  expect([...withheld.keys()]).toEqual(undeclared)
  expect([...withheld.values()].every((reasons) => reasons.length > 0)).toBe(true)
})

test(`what the configuration turns off is withheld, and says so ${meets('4.15/not-declared', '2/truthful')}`, async () => {
  const upstream = await readUpstream('a', { ...FULL, tiers: ['a'] })
  const layout = layOut({ upstreams: [upstream.config], tiers: [], recall: recallConfig }, [
    upstream,
  ])
  const { capabilities, withheld } = promise(layout, { off: new Map([['summarize', 'told so']]) })
  expect(capabilities.has('summarize')).toBe(false)
  expect(withheld.get('summarize')).toEqual(['told so'])
})

test('an outage of what was read before takes nothing away', async () => {
  const upstream = upstreamOver('a', new PlainMemory({ ...FULL, tiers: ['a'] }))
  await upstream.refresh()
  const kept: string[] = []
  const again = upstreamOver('a', new PlainMemory({ ...FULL, tiers: ['a'] }), {
    store: (profile) => kept.push(profile),
  })
  await again.refresh()
  const restarted = upstreamOver('a', new PlainMemory(), { stored: kept[0] })
  const recall = recallConfig
  const of = (one: Upstream) =>
    promise(layOut({ upstreams: [one.config], tiers: [tierConfig('a', 'a')], recall }, [one]))
  expect(of(restarted)).toEqual(of(upstream))
})

test('limits are the tightest of those that are written to', async () => {
  const limits = (most: number, longest?: number) => ({
    ...FULL,
    limits: {
      max_recall_limit: most,
      ...(longest === undefined ? {} : { max_content_length: longest }),
    },
  })
  const made: Made[] = [
    ['a', { ...limits(50), tiers: ['a'] }],
    ['b', { ...limits(20, 1000), tiers: ['b'] }],
    ['c', { ...limits(5, 10), tiers: ['c'], readOnly: true }],
  ]
  expect((await promised(made)).limits).toEqual({ max_recall_limit: 20, max_content_length: 1000 })
  expect((await promised(made.slice(2))).limits).toEqual({
    max_recall_limit: 5,
    max_content_length: 10,
  })
  expect((await promised([full('a')])).limits).toEqual({})
})

test('a source that is only read besides takes nothing away', async () => {
  const tiers = [tierConfig('a', 'a', { also: ['b'] })]
  const { capabilities, limits } = await promised(
    [full('a'), ['b', { limits: { max_recall_limit: 3 } }]],
    tiers,
  )
  expect(capabilities.has('scopes')).toBe(true)
  expect(limits).toEqual({})
})
