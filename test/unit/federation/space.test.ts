import { expect, test } from 'vitest'
import type { UpstreamConfig } from '../../../src/config/config.js'
import { layOut } from '../../../src/federation/layout.js'
import { type Promised, promise } from '../../../src/federation/promise.js'
import { whyIncomparable } from '../../../src/federation/space.js'
import type { Description } from '../../../src/protocol/methods.js'
import { recallConfig, tierConfig } from '../../support/federation.js'
import { upstreamOver } from '../../support/upstreams.js'
import { VectorMemory, type VectorOptions } from '../../support/vector-memory.js'

type Vectors = Partial<NonNullable<Description['embeddings']>>
type Made = readonly [options: Vectors & VectorOptions, config?: Partial<UpstreamConfig>]

async function layout(made: Readonly<Record<string, Made>>) {
  const upstreams = await Promise.all(
    Object.entries(made).map(async ([name, [options, config = {}]]) => {
      const { capabilities = ['core', 'embeddings'], readOnly = false, ...embeddings } = options
      const memory = new VectorMemory({ capabilities, readOnly, embeddings })
      const upstream = upstreamOver(name, memory, { config })
      await upstream.refresh()
      return upstream
    }),
  )
  const configs = upstreams.map(({ config }) => config)
  const tiers = upstreams.map(({ name }) => tierConfig(name, name))
  return layOut({ upstreams: configs, tiers, recall: recallConfig }, upstreams)
}

async function promised(
  made: Readonly<Record<string, Made>>,
  width?: number,
): Promise<Pick<Promised, 'space'> & { readonly withheld: readonly string[] | undefined }> {
  const { space, withheld, capabilities } = promise(await layout(made), { width })
  expect(capabilities.has('embeddings')).toBe(space !== undefined)
  return { space, withheld: withheld.get('embeddings') }
}

const ALL = ['cosine', 'dot', 'l2']

test.each<[string, Readonly<Record<string, Made>>, number | undefined, object]>([
  [
    'one store alone',
    { a: [{ metrics: ALL }] },
    undefined,
    { dimensions: null, metric: 'cosine', metrics: ALL, model: undefined },
  ],
  [
    'what all can do is told, the metric in use among it whoever leaves it out',
    { a: [{ metric: 'dot', metrics: ALL }], b: [{ metric: 'dot', metrics: ['l2'] }] },
    undefined,
    { metric: 'dot', metrics: ['dot', 'l2'] },
  ],
  [
    'a width that one has fixed is that of all',
    { a: [{}], b: [{ dimensions: 3 }], c: [{ dimensions: 3 }] },
    undefined,
    { dimensions: 3 },
  ],
  ['a width that was accepted before', { a: [{}], b: [{}] }, 4, { dimensions: 4 }],
  [
    'a model that one names and nobody denies',
    { a: [{ model: 'm' }], b: [{ model: null }], c: [{}] },
    undefined,
    { model: 'm' },
  ],
  [
    'a read-only store that disagrees about everything takes nothing away',
    {
      a: [{ metrics: ALL }],
      b: [
        { metric: 'dot', dimensions: 9, model: 'other', metrics: ['dot'] },
        { access: 'read-only' },
      ],
      c: [{ readOnly: true, capabilities: ['core'] }],
    },
    undefined,
    { dimensions: null, metric: 'cosine', metrics: ALL, model: undefined },
  ],
  [
    'without a writable one, all decide',
    { a: [{ dimensions: 2 }, { access: 'read-only' }], b: [{}, { access: 'read-only' }] },
    undefined,
    { dimensions: 2 },
  ],
])('agreed: %s', async (_, made, width, space) => {
  expect(await promised(made, width)).toMatchObject({ space, withheld: undefined })
})

test.each<[string, Readonly<Record<string, Made>>, number | undefined, string[]]>([
  [
    'two metrics',
    { vectors: [{}], facts: [{ metric: 'dot' }] },
    undefined,
    ['vectors: cosine, facts: dot'],
  ],
  [
    'one metric against two',
    { a: [{}], b: [{}], c: [{ metric: 'l2' }] },
    undefined,
    ['a: cosine, b: cosine, c: l2'],
  ],
  [
    'two widths, whoever has none left out',
    { a: [{ dimensions: 2 }], b: [{}], c: [{ dimensions: 3 }] },
    undefined,
    ['a: 2 numbers, c: 3 numbers'],
  ],
  [
    'another width than was accepted before',
    { a: [{ dimensions: 2 }], b: [{}] },
    3,
    ['a: 2 numbers, accepted before: 3 numbers'],
  ],
  [
    'two models',
    { a: [{ model: 'm' }], b: [{ model: 'n' }], c: [{}] },
    undefined,
    ['a: model m, b: model n'],
  ],
  [
    'everything at once',
    {
      a: [{ dimensions: 2, model: 'm' }],
      b: [{ dimensions: 3, metric: 'dot', model: 'n' }],
    },
    undefined,
    ['a: cosine, b: dot', 'a: 2 numbers, b: 3 numbers', 'a: model m, b: model n'],
  ],
  [
    'a metric that nobody knows',
    { a: [{ metric: 'manhattan' }], b: [{ metric: 'manhattan' }] },
    undefined,
    [
      'a: compares vectors by manhattan, which A2M does not know',
      'b: compares vectors by manhattan, which A2M does not know',
    ],
  ],
  [
    'a writable one without vectors',
    { a: [{}], b: [{ capabilities: ['core'] }] },
    undefined,
    ['b: does not declare embeddings'],
  ],
  [
    'read-only ones alone that disagree',
    { a: [{}, { access: 'read-only' }], b: [{ metric: 'dot' }, { access: 'read-only' }] },
    undefined,
    ['a: cosine, b: dot'],
  ],
])('withheld: %s', async (_, made, width, withheld) => {
  expect(await promised(made, width)).toEqual({ space: undefined, withheld })
})

test.each<[Vectors & VectorOptions, string | undefined]>([
  [{ model: 'm' }, undefined],
  [{ dimensions: 2 }, undefined],
  [{ capabilities: ['core'] }, 'it keeps no vectors'],
  [{ metric: 'dot' }, 'it compares vectors by dot and not by cosine'],
  [{ dimensions: 3 }, 'its vectors have 3 numbers and not 2'],
  [{ model: 'n' }, 'its vectors are of model n and not m'],
])('a store with %o, asked by a vector of two of model m: %s', async (vectors, reason) => {
  const { sources } = await layout({ a: [vectors, { access: 'read-only' }] })
  const space = { dimensions: 2, metric: 'cosine', metrics: ['cosine'], model: 'm' } as const
  expect(sources.map((source) => whyIncomparable(source, space, [1, 2]))).toEqual([reason])
})
