import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { codeOf, contents, idsOf, OpenStore } from './open.js'

async function filled(): Promise<OpenStore> {
  const store = new OpenStore()
  await store.write(
    { id: '1', content: 'red fox', tier: 'working', role: 'user' },
    { id: '2', content: 'red hen', tier: 'semantic', role: 'user' },
    { id: '3', content: 'blue fox', tier: 'semantic', owner: 'ann' },
    { id: '3', content: 'blue hen', tier: 'semantic', owner: 'bob' },
  )
  return store
}

test.each([
  [{ ids: ['1', '1', 'none'] }, 1],
  [{ ids: ['3'] }, 2],
  [{ ids: ['3'], owner: 'ann' }, 1],
  [{ ids: ['3'], [EXTENSION]: { owner: null } }, 0],
  [{ ids: [], tier: '', where: {}, query: 'fox' }, 2],
  [{ ids: ['1', '2'], query: 'fox' }, 1],
  [{ ids: ['1', '2'], tier: 'semantic' }, 1],
  [{ query: 'fox', owner: 'ann' }, 1],
  [{ query: 'fox', where: { role: 'user' } }, 1],
  [{ tier: 'semantic' }, 3],
  [{ tier: 'semantic', where: { role: 'user' }, query: 'fox' }, 0],
  [{ where: { role: null } }, 2],
])('selectors %j are joined by AND and forget %i', async (params, forgotten) => {
  const store = await filled()
  expect(await store.call('memory/forget', params)).toEqual({ forgotten })
  expect(await store.timeline()).toHaveLength(4 - forgotten)
})

test('an unknown tier is an error and nothing is gone', async () => {
  const store = await filled()
  expect(await codeOf(store.call('memory/forget', { tier: 'nowhere', ids: ['1'] }))).toBe(-32002)
  expect(await store.timeline()).toHaveLength(4)
})

test('a query forgets exactly what recall gives by default', async () => {
  const store = new OpenStore()
  await store.write(...Array.from({ length: 30 }, (_, n) => `note ${'word '.repeat(n % 7)}${n}`))
  for (const query of ['note word', '7', '...']) {
    const gone = idsOf(await store.recall({ query }))
    const before = idsOf(await store.timeline())
    expect(await store.call('memory/forget', { query })).toEqual({ forgotten: gone.length })
    const left = before.filter((id) => !gone.includes(id))
    expect(idsOf(await store.timeline())).toEqual(left)
  }
})

test('what is forgotten is found no more, and its id is free', async () => {
  const store = await filled()
  await store.call('memory/forget', { ids: ['1'] })
  expect(contents(await store.recall('red'))).toEqual(['red hen'])
  expect(await store.counts()).toMatchObject({ working: 0, semantic: 3 })
  await store.write({ id: '1', content: 'red again' })
  expect(contents(await store.recall('again'))).toEqual(['red again'])
})
