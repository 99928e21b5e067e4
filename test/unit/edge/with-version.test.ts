import { expect, test } from 'vitest'
import { withVersion } from '../../../src/edge/with-version.js'
import { internalContext } from '../../../src/upstreams/upstream.js'
import { type Reached, servedBy } from '../../e2e/edge-fixture.js'

const DESCRIPTION = { protocol: 'a2m/0.1', name: 'x', capabilities: ['core'], methods: [] }

function setUp(name: string, supported: readonly string[]) {
  const reached: Reached[] = []
  const inner = servedBy((call) => {
    reached.push(call)
    return DESCRIPTION
  })
  return { served: withVersion(inner, { name, supported }), reached }
}

const context = internalContext(0)

test('describe says the name that it is served under, whatever is behind', async () => {
  const { served, reached } = setUp('next', ['a2m/0.1', 'next'])
  const described = await served.call('memory/describe', { owner: 'o' }, context)
  expect(described).toEqual({ ...DESCRIPTION, protocol: 'next' })
  await served.call('memory/describe', { protocol: 'next' }, context)
  expect(reached.map(({ params }) => params)).toEqual([{ owner: 'o' }, {}])
})

test('a client may ask for it by any name that is compatible', async () => {
  const { served } = setUp('a2m/1.2', ['a2m/1.2'])
  expect(await served.call('memory/describe', { protocol: 'a2m/1.7' }, context)).toMatchObject({
    protocol: 'a2m/1.2',
  })
})

test('asked for another it says every version that the header can choose', async () => {
  const supported = ['a2m/0.1', 'a2m/0.2', 'a2m/0.3']
  const { served, reached } = setUp('a2m/0.2', supported)
  const asked = served.call('memory/describe', { protocol: 'a2m/0.1' }, context)
  await expect(asked).rejects.toMatchObject({
    code: -32007,
    message:
      'this is a2m/0.2; to reach a2m/0.1 or a2m/0.3, name it in the header A2M-Protocol-Version',
    data: { supported },
  })
  expect(reached).toEqual([])
})

test('where there is no other, it says that', async () => {
  const asked = setUp('next', ['next']).served.call(
    'memory/describe',
    { protocol: 'a2m/0.1' },
    context,
  )
  await expect(asked).rejects.toThrow(/^this is next, and no other version is served here$/)
})

test('every other call is the memory’s own', async () => {
  const { served, reached } = setUp('a2m/0.2', ['a2m/0.2'])
  await served.call('memory/recall', { query: 'q' }, context)
  expect(reached).toMatchObject([{ method: 'memory/recall', params: { query: 'q' }, context }])
})
