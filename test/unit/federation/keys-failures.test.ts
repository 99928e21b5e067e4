import { afterEach, describe, expect, test, vi } from 'vitest'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { JsonText } from '../../../src/protocol/json.js'
import { openState, type State } from '../../../src/state/state.js'
import type { TestFederation } from '../../support/federation.js'
import {
  Between,
  caller,
  errorOf,
  failing,
  keyedMemory,
  losing,
  overTiers,
} from '../../support/keyed.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  vi.useRealTimers()
  await fixture?.close()
  fixture = undefined
})

const refusal = new A2mError('QUOTA_EXCEEDED', 'full')
const turns = () => new Promise(setImmediate)
const down = new Fault('unreachable', 'connection refused')

/** Two stores behind something that may fail; `k` stands in the first. */
async function two(setup: { readonly state?: State } = {}) {
  const inner = { a: keyedMemory(), b: keyedMemory() }
  const a = new Between(inner.a)
  const b = new Between(inner.b)
  fixture = await overTiers({ a: { memory: a }, b: { memory: b } }, setup)
  const { remember, ...rest } = caller(fixture)
  const metadata = new JsonText('{"n":1.0}')
  const [id = ''] = await remember({ key: 'k', content: 'old', role: 'user', metadata })
  return { inner, a, b, id, remember, ...rest, fixture }
}

const BATCH = [
  { key: 'k', content: 'new' },
  { content: 'made', tier: 'a' },
  { content: 'refused', tier: 'b' },
]

describe('a batch that fails half-way', () => {
  test('is taken back: what it made is gone, what it replaced stands again, one revision higher', async () => {
    const { inner, b, id, remember, fetch } = await two()
    b.around = failing(refusal, 'memory/remember')
    expect(await errorOf(remember(...BATCH))).toMatchObject({
      code: -32603,
      data: { upstream: 'b', outcome: 'refused', remaining: [], put_back: ['k'] },
    })
    const record = await fetch('k')
    expect(record).toMatchObject({ id, content: 'old', role: 'user', revision: 2 })
    expect(record?.metadata?.text).toBe('{"n":1.0}')
    expect(inner.a.records).toHaveLength(1)
    expect(fixture?.state.journal.openWrites()).toEqual([])
  })

  test('an id that the caller gave stays, and is named', async () => {
    const { b, remember, fetch } = await two()
    b.around = failing(refusal, 'memory/remember')
    const named = { id: 'mine', key: 'other', content: 'stays' }
    expect(await errorOf(remember(named, ...BATCH))).toMatchObject({
      data: { remaining: ['mine'], put_back: ['k'] },
    })
    expect(await fetch('other')).toMatchObject({ id: 'mine' })
  })

  test('what cannot be put back now is named, and put back once the upstream answers', async () => {
    const state = openState({ path: ':memory:', durability: 'normal' })
    const { inner, a, b, id, remember } = await two({ state })
    let writes = 0
    a.around = (method, _params, next) =>
      method === 'memory/forget' || (method === 'memory/remember' && ++writes > 1)
        ? Promise.reject(down)
        : next()
    b.around = failing(refusal, 'memory/remember')
    const error = await errorOf(remember(...BATCH))
    const made = inner.a.records.find(({ content }) => content === 'made')?.id
    expect(error).toMatchObject({ data: { remaining: [id, made] } })
    await fixture?.federation.close()
    fixture = await overTiers({ a: { memory: inner.a }, b: { memory: inner.b } }, { state })
    expect(inner.a.records).toMatchObject([{ id, content: 'old', revision: 2 }])
    expect(state.journal.openWrites()).toEqual([])
  })

  test('what somebody else has written there since is left alone', async () => {
    const { inner, b, id, remember } = await two()
    b.around = (method, _params, next) => {
      if (method !== 'memory/remember') return next()
      inner.a.records.splice(0, 1, { ...inner.a.records[0], ...OTHER, id })
      return Promise.reject(refusal)
    }
    expect(await errorOf(remember(...BATCH))).toMatchObject({ data: { remaining: [] } })
    expect(inner.a.records).toMatchObject([{ id, content: 'of somebody else', revision: 9 }])
  })

  test('what has been forgotten since stays forgotten', async () => {
    const { inner, b, remember, fetch } = await two()
    b.around = (method, _params, next) => {
      if (method !== 'memory/remember') return next()
      inner.a.records.splice(0, 1)
      return Promise.reject(refusal)
    }
    expect(await errorOf(remember(...BATCH))).toMatchObject({ data: { remaining: [] } })
    expect(await fetch('k')).toBeNull()
  })

  const OTHER = {
    content: 'of somebody else',
    created_at: '2026-01-01T00:00:00.000Z',
    key: 'k',
    revision: 9,
  }
})

test('a write of several parts that takes long is not undone under its hands', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  const { b, remember, timeline } = await two()
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const reached = new Promise<void>((resolve) => {
    b.around = async (method, _params, next) => {
      if (method !== 'memory/remember') return next()
      resolve()
      await held
      return next()
    }
  })
  const writing = remember({ content: 'one' }, { content: 'two', tier: 'b' })
  await reached
  await vi.advanceTimersByTimeAsync(20_000)
  await turns()
  release()
  const ids = await writing
  await turns()
  expect((await timeline()).map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
})

describe('a write whose answer is lost', () => {
  test('is not sent again, but read: the content is there, so it is a success', async () => {
    const { inner, a, id, remember, fetch } = await two()
    a.around = losing('memory/remember')
    expect(await remember({ key: 'k', content: 'new' })).toEqual([id])
    const [fresh] = await remember({ key: 'l', content: 'first' }, { content: 'no key', tier: 'a' })
    expect(await fetch('k')).toMatchObject({ content: 'new', revision: 1 })
    expect(await fetch('l')).toMatchObject({ id: fresh, content: 'first', revision: 0 })
    expect(inner.a.asked.filter(({ method }) => method === 'memory/remember')).toHaveLength(4)
  })

  test('and is not there is an error of unknown outcome', async () => {
    const { a, remember, fetch } = await two()
    a.around = failing(new Fault('cut', 'cut off'), 'memory/remember')
    for (const content of ['new', 'old']) {
      expect(await errorOf(remember({ key: 'k', content }))).toMatchObject({
        code: -32603,
        data: { upstream: 'a', outcome: 'unknown' },
      })
    }
    expect(await fetch('k')).toMatchObject({ content: 'old', revision: 0 })
  })

  test('and cannot be read is an error of unknown outcome', async () => {
    const { a, remember } = await two()
    a.around = async (method, _params, next) => {
      const result = await next()
      if (method !== 'memory/remember') return result
      a.around = () => Promise.reject(down)
      throw new Fault('cut', 'cut off')
    }
    expect(await errorOf(remember({ key: 'k', content: 'new' }))).toMatchObject({
      data: { outcome: 'unknown' },
    })
  })
})

describe('a write that names another tier', () => {
  test('where it cannot move, nothing is written', async () => {
    const { b, id, remember, fetch } = await two()
    b.around = failing(refusal, 'memory/remember')
    expect(await errorOf(remember({ key: 'k', content: 'new', tier: 'b' }))).toMatchObject({
      code: -32603,
    })
    expect(await fetch('k')).toMatchObject({ id, content: 'old', revision: 0, tier: 'a' })
    expect(fixture?.state.journal.openMoves()).toEqual([])
  })

  test('where it has moved and cannot be written, it is sent back', async () => {
    const { b, id, remember, fetch } = await two()
    let writes = 0
    b.around = (method, _params, next) =>
      method === 'memory/remember' && ++writes > 1 ? Promise.reject(refusal) : next()
    expect(await errorOf(remember({ key: 'k', content: 'new', tier: 'b' }))).toMatchObject({
      data: { upstream: 'b', outcome: 'refused' },
    })
    expect(await fetch('k')).toMatchObject({ id, content: 'old', revision: 0, tier: 'a' })
  })

  test('where it cannot be sent back either, the error says so', async () => {
    const { a, b, id, remember, fetch } = await two()
    let writes = 0
    b.around = (method, _params, next) =>
      method === 'memory/remember' && ++writes > 1 ? Promise.reject(refusal) : next()
    a.around = failing(refusal, 'memory/remember')
    expect(await errorOf(remember({ key: 'k', content: 'new', tier: 'b' }))).toMatchObject({
      data: { outcome: 'refused', moved: [id] },
    })
    expect(await fetch('k')).toMatchObject({ id, content: 'old', revision: 0, tier: 'b' })
  })
})
