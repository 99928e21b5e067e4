import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/protocol/errors.js'
import { JsonText } from '../../../../src/protocol/json.js'
import type { Memory } from '../../../../src/protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../../../src/protocol/methods.js'
import type { MemoryRecord } from '../../../../src/protocol/records.js'
import { PROTOCOL } from '../../../../src/protocol/versions.js'
import { anyContext } from '../../../support/federation-contexts.js'
import { liar } from '../../../support/liar.js'
import { ownersInMetadata } from '../../../support/owner-metadata.js'
import { Faulty, PlainMemory, type PlainOptions } from '../../../support/plain-memory.js'

const KEYED: PlainOptions = {
  capabilities: ['core', 'keys', 'sessions', 'tiers'],
  tiers: ['a', 'b'],
}

function over(
  options: PlainOptions = KEYED,
  between: (plain: Memory) => Memory = (plain) => plain,
) {
  const plain = new PlainMemory(options)
  const { memory, flaws = () => [], blamed } = ownersInMetadata(between(plain))
  return { plain, flaws, blamed, ...as(memory) }
}

/** Calls for one owner, for those without one (null), or for everybody (undefined). */
function as(memory: Memory) {
  const call = <M extends Method>(
    method: M,
    params: ParamsOf<M>,
    owner: string | null | undefined,
  ) => memory.call(method, params, anyContext({ owner }))
  return {
    memory,
    call,
    write: (owner: string | null, ...records: ParamsOf<'memory/remember'>['records']) =>
      call(
        'memory/remember',
        { records: records.map((one) => ({ ...one, owner: owner ?? undefined })) },
        owner,
      ),
    read: async (owner: string | null | undefined, params: ParamsOf<'memory/timeline'> = {}) =>
      (await call('memory/timeline', params, owner)).records,
  }
}

const ids = (records: readonly MemoryRecord[]) => records.map(({ id }) => id)

describe('what is written', () => {
  test('is called by whose it is, and comes back as it was', async () => {
    const { plain, write, read } = over()
    const metadata = new JsonText('{"n":1.0}')
    const entry = { id: 'x', content: 'c', key: 'wf/1', session: 's', group: 'g', metadata }
    expect(await write('anna', entry)).toEqual({ ids: ['x'] })
    expect(plain.records).toMatchObject([
      { id: 'o.anna/x', key: 'o.anna/wf/1', session: 'o.anna/s', group: 'o.anna/g' },
    ])
    expect(plain.records[0]).not.toHaveProperty('owner', 'anna')
    const [record] = await read('anna')
    expect(record).toMatchObject({ ...entry, owner: 'anna' })
    expect(record?.metadata?.text).toBe('{"n":1.0}')
  })

  test('is each owner’s own under one id, one key and one session', async () => {
    const { write, read, call } = over()
    const entry = (content: string) => ({ id: 'x', content, key: 'k', session: 's' })
    for (const owner of ['anna', 'ben', null]) await write(owner, entry(`of ${owner}`))
    for (const owner of ['anna', 'ben', null]) {
      expect(await read(owner)).toMatchObject([{ id: 'x', content: `of ${owner}` }])
      expect((await call('memory/fetch', { key: 'k' }, owner)).record?.content).toBe(`of ${owner}`)
    }
    await write('ben', { ...entry('rewritten'), id: 'y' })
    expect(await read('ben')).toMatchObject([{ id: 'x', content: 'rewritten', revision: 1 }])
    expect(await read('anna')).toMatchObject([{ content: 'of anna', revision: 0 }])
  })

  test('has an id also where it came without one', async () => {
    const { write, read } = over()
    const { ids: made } = await write('anna', { content: 'a' }, { content: 'b' })
    expect(ids(await read('anna'))).toEqual(made)
  })

  test.each(['a2m-gateway-owner', 'a2m-gateway-empty'])('may not say %s', async (name) => {
    const { write, read, plain } = over()
    const metadata = JsonText.of({ [name]: '=ben' })
    await expect(write('anna', { content: 'x', metadata })).rejects.toMatchObject({ code: -32602 })
    await expect(read('anna', { where: { [name]: '=ben' } })).rejects.toMatchObject({
      code: -32602,
    })
    expect(plain.records).toEqual([])
  })

  test('and answered by the id of somebody else’s record is no answer', async () => {
    const { write } = over(KEYED, (plain) =>
      liar(plain, { 'memory/remember': async () => ({ ids: ['o.ben/x'] }) }),
    )
    await expect(write('anna', { id: 'x', content: 'c' })).rejects.toMatchObject({
      kind: 'bad_reply',
    })
  })
})

describe('an upstream that does not keep metadata', () => {
  test('is found out at the first record, which is taken back; it keeps nobody apart from then on', async () => {
    const { plain, write, read, call, flaws, blamed } = over({ ...KEYED, drops: ['metadata'] })
    await expect(write('anna', { id: 'x', content: 'c' })).rejects.toMatchObject({ code: -32603 })
    expect(plain.records).toEqual([])
    expect(blamed).toContainEqual(['untrue_capability', 1])
    await expect(write('ben', { id: 'y', content: 'c' })).rejects.toThrow(/does not keep metadata/)
    expect(plain.asked.filter(({ method }) => method === 'memory/remember')).toHaveLength(1)
    expect(await read('anna')).toEqual([])
    const { capabilities } = await call('memory/describe', { protocol: PROTOCOL }, undefined)
    expect(capabilities).not.toContain('scopes')
    expect(flaws()).toEqual([
      'owner: metadata: it does not keep metadata; owners are not kept apart',
    ])
  })
})

const OTHERS = Array.from({ length: 30 }, (_, n) => ({ id: `b${n}`, content: 'an apple' }))
const MINE = Array.from({ length: 10 }, (_, n) => ({ id: `a${n}`, content: 'an apple' }))

describe('an upstream that ignores where', () => {
  const deaf: PlainOptions = { ...KEYED, faults: ['ignores-where', 'ignores-where-on-timeline'] }

  test('leaks nothing, and gives as many as there are', async () => {
    const { write, call, read, blamed } = over(deaf)
    for (const one of OTHERS) await write('ben', one)
    for (const one of MINE) await write('anna', one)
    for (const one of OTHERS) await write('ben', { ...one, id: `c${one.id}` })
    const recalled = await call('memory/recall', { query: 'apple', limit: 8 }, 'anna')
    expect(ids(recalled.records)).toEqual(ids(MINE as MemoryRecord[]).slice(0, 8))
    expect(ids(await read('anna', { limit: 4 }))).toEqual(['a6', 'a7', 'a8', 'a9'])
    expect(ids(await read('anna', { where: { id: ['a3', 'b3'] }, limit: 2 }))).toEqual(['a3'])
    expect(blamed.map(([what]) => what)).toContain('foreign_record')
  })

  test('is known by what it answers to a question that nobody’s record passes', async () => {
    const { write, call, flaws } = over(deaf)
    await write('ben', { content: 'x' })
    const { capabilities } = await call('memory/describe', { protocol: PROTOCOL }, undefined)
    expect(capabilities).toContain('scopes')
    expect(flaws()).toHaveLength(2)
    expect(flaws()[0]).toContain('it ignores where on memory/timeline; everything is read')
  })

  test('is asked for everything at once from then on', async () => {
    const { plain, write, call } = over(deaf)
    for (const one of OTHERS) await write('ben', one)
    await call('memory/recall', { query: 'apple', limit: 3 }, 'anna')
    plain.asked.length = 0
    await call('memory/recall', { query: 'apple', limit: 3 }, 'anna')
    expect(plain.asked).toMatchObject([{ params: { limit: 0 } }])
  })

  test('keeps nobody apart where it does not give everything either', async () => {
    const { write, read, call, flaws } = over({ ...deaf, limits: { max_recall_limit: 20 } })
    for (const one of OTHERS) await write('ben', one)
    await write('anna', { content: 'mine' })
    const { capabilities } = await call('memory/describe', { protocol: PROTOCOL }, undefined)
    expect(capabilities).not.toContain('scopes')
    expect(flaws()[0]).toContain('gives 20 records at most')
    await expect(read('anna', { limit: 20 })).rejects.toThrow(/20 records at most/)
  })

  test('and ids in a forget still loses no record of others', async () => {
    const { plain, write, call } = over(deaf, (memory) =>
      liar(memory, {
        'memory/forget': async (params, honest) => honest({ ...params, ids: params.ids ?? [] }),
      }),
    )
    await write('anna', { id: 'x', content: 'of anna' })
    await write('ben', { id: 'y', content: 'of ben' })
    plain.asked.length = 0
    for (const params of [{ ids: ['x'] }, { ids: ['o.anna/x'] }, { where: { id: 'x' } }]) {
      expect(await call('memory/forget', params, 'ben')).toEqual({ forgotten: 0 })
    }
    expect(await call('memory/promote', { ids: ['x'], tier: 'b' }, 'ben')).toEqual({ promoted: 0 })
    expect(plain.asked.map(({ method }) => method)).not.toContain('memory/forget')
    expect(plain.asked.map(({ method }) => method)).not.toContain('memory/promote')
    expect(plain.records).toHaveLength(2)
  })
})

describe('a record that arrives', () => {
  const made = { content: 'forged', created_at: '2026-01-01T00:00:00.000Z' }
  const says = (owner: string) => JsonText.of({ 'a2m-gateway-owner': owner })

  test.each<[string, MemoryRecord]>([
    ['of another owner', { ...made, id: 'o.ben/x', metadata: says('=ben') }],
    ['of nobody', { ...made, id: 'n/x', metadata: says('-') }],
    ['that says no owner', { ...made, id: 'o.anna/x' }],
    ['that was there before', { ...made, id: 'x' }],
    ['with an owner that is none', { ...made, id: 'o.anna/x', metadata: says('anna') }],
    ['with an id of another owner', { ...made, id: 'o.ben/x', metadata: says('=anna') }],
    ['without a name', { ...made, id: 'o.anna/', metadata: says('=anna') }],
    [
      'with a key of another owner',
      { ...made, id: 'o.anna/x', key: 'o.ben/k', metadata: says('=anna') },
    ],
    [
      'with a session of nobody',
      { ...made, id: 'o.anna/x', session: 's', metadata: says('=anna') },
    ],
    [
      'with a group of another owner',
      { ...made, id: 'o.anna/x', group: 'o.ben/g', metadata: says('=anna') },
    ],
  ])('%s is dropped and counted, however it came', async (_, record) => {
    const { call, read, blamed } = over(KEYED, (plain) =>
      liar(plain, {
        'memory/recall': async () => ({ records: [{ ...record, score: 1 }] }),
        'memory/timeline': async () => ({ records: [record] }),
        'memory/fetch': async () => ({ record }),
      }),
    )
    expect(await read('anna')).toEqual([])
    expect((await call('memory/recall', { query: 'forged' }, 'anna')).records).toEqual([])
    expect(await call('memory/fetch', { key: 'k' }, 'anna')).toEqual({ record: null })
    expect(blamed.filter(([what]) => what === 'foreign_record')).toHaveLength(3)
  })
})

describe('what was there before', () => {
  const earlier: MemoryRecord = {
    id: 'old',
    content: 'old',
    created_at: '2026-01-01T00:00:00.000Z',
  }

  test('is seen and forgotten by who may act for all, and by nobody else', async () => {
    const { plain, read, call } = over()
    plain.records.push({ ...earlier, owner: 'told by the store' })
    for (const owner of ['anna', null]) expect(await read(owner)).toEqual([])
    const [seen] = await read(undefined)
    expect(seen).toMatchObject({ id: 'old', content: 'old' })
    expect(seen?.owner).toBeUndefined()
    expect(await call('memory/forget', { ids: ['old'] }, 'anna')).toEqual({ forgotten: 0 })
    expect(await call('memory/forget', { ids: ['old'] }, undefined)).toEqual({ forgotten: 1 })
  })

  test('goes by its id alone where that is nobody’s', async () => {
    const { plain, write, call } = over()
    plain.records.push(earlier)
    await write('anna', { id: 'x', content: 'of anna' })
    expect(await call('memory/forget', { ids: ['o.anna/x'] }, null)).toEqual({ forgotten: 0 })
    expect(await call('memory/forget', { ids: ['old'] }, null)).toEqual({ forgotten: 1 })
    expect(plain.records).toHaveLength(1)
  })
})

describe('for everybody', () => {
  async function three() {
    const all = over()
    for (const owner of ['anna', 'ben', null]) {
      await all.write(owner, {
        id: 'x',
        content: `of ${owner}`,
        key: owner === 'ben' ? 'b' : 'k',
        session: 's',
      })
    }
    return all
  }

  test('each record is its own owner’s', async () => {
    const { read } = await three()
    expect((await read(undefined)).map(({ id, owner }) => [id, owner])).toEqual([
      ['x', 'anna'],
      ['x', 'ben'],
      ['x', undefined],
    ])
    expect(await read(undefined, { where: { id: 'x', key: 'k' } })).toHaveLength(2)
    expect(await read(undefined, { where: { owner: 'ben' } })).toMatchObject([{ owner: 'ben' }])
    expect(await read(undefined, { where: { owner: ['ben', null] } })).toHaveLength(2)
    expect(await read(undefined, { key_prefix: 'k', limit: 1 })).toMatchObject([
      { content: 'of null' },
    ])
  })

  test('a key is nobody’s, or the only owner’s', async () => {
    const { call, write } = await three()
    expect((await call('memory/fetch', { key: 'k' }, undefined)).record?.content).toBe('of null')
    expect((await call('memory/fetch', { key: 'b' }, undefined)).record?.content).toBe('of ben')
    expect(await call('memory/fetch', { key: 'none' }, undefined)).toEqual({ record: null })
    await write('anna', { content: 'too', key: 'b' })
    await expect(call('memory/fetch', { key: 'b' }, undefined)).rejects.toMatchObject({
      code: -32602,
    })
  })
})

describe('where', () => {
  async function some() {
    const all = over()
    const tag = (value: string) => JsonText.of({ tag: value })
    await all.write('anna', {
      id: '1',
      content: 'x',
      key: 'k',
      session: 's',
      group: 'g',
      metadata: tag('t'),
    })
    await all.write('anna', { id: '2', content: 'y', metadata: tag('u') })
    await all.write('ben', {
      id: '1',
      content: 'x',
      key: 'k',
      session: 's',
      group: 'g',
      metadata: tag('t'),
    })
    return all
  }

  test.each([
    [{ id: '1' }, ['1']],
    [{ id: ['1', '2', 'o.ben/1', null] }, ['1', '2']],
    [{ id: null }, []],
    [{ id: 1 }, []],
    [{ id: [] }, []],
    [{ key: 'k' }, ['1']],
    [{ key: null }, ['2']],
    [{ key: ['k', null] }, ['1', '2']],
    [{ session: 's', group: 'g' }, ['1']],
    [{ group: null }, ['2']],
    [{ owner: 'anna' }, ['1', '2']],
    [{ owner: 'ben' }, []],
    [{ owner: ['ben', 'anna'] }, ['1', '2']],
    [{ owner: null }, []],
    [{ tag: 't' }, ['1']],
    [{ tag: ['t', 'u'] }, ['1', '2']],
    [{ metadata: { tag: 'u' } }, ['2']],
    [{ metadata: null }, []],
    [{ content: 'y' }, ['2']],
  ])('%j finds %j of an owner’s', async (where, expected) => {
    const { read, call, blamed } = await some()
    expect(ids(await read('anna', { where }))).toEqual(expected)
    const { records } = await call('memory/recall', { where, limit: 5 }, 'anna')
    expect(ids(records).toSorted()).toEqual(expected)
    expect(blamed).toEqual([])
  })
})

describe('what it says of itself', () => {
  test('has owners, and nothing that would be of all of them at once', async () => {
    const capabilities = ['core', 'tiers', 'sessions', 'events', 'prompt', 'summarize']
    const { call } = over({ capabilities, tiers: ['a'], limits: { max_records_per_call: 5 } })
    const told = await call('memory/describe', {}, undefined)
    expect(told.capabilities).toEqual(['core', 'tiers', 'sessions', 'scopes'])
    expect(told.limits).toEqual({ max_records_per_call: 5 })
    for (const method of ['memory/consolidate', 'memory/events'] as const) {
      await expect(call(method, {}, 'anna')).rejects.toMatchObject({ code: -32003 })
    }
  })

  test('counts one owner’s records', async () => {
    const { call, write } = over()
    await write('anna', { content: 'x' }, { content: 'y', tier: 'b' }, { content: 'z', tier: 'b' })
    await write('ben', { content: 'x' })
    const counts = async (owner: string | undefined) =>
      (await call('memory/describe', {}, owner)).tiers?.map(({ count }) => count)
    expect(await counts('anna')).toEqual([1, 2])
    expect(await counts('carl')).toEqual([0, 0])
    expect(await counts(undefined)).toEqual([2, 2])
  })
})

describe('sessions', () => {
  const session = (
    name: string,
    records: number,
  ): ResultOf<'memory/session/list'>['sessions'][number] => ({
    session: name,
    records,
    tiers: { a: records },
    opened_at: `2026-01-0${records}T00:00:00.000Z`,
    touched_at: `2026-01-0${records}T00:00:00.000Z`,
  })
  const listing = (plain: Memory) =>
    liar(plain, {
      'memory/session/list': async () => ({
        sessions: [
          session('o.anna/s', 1),
          session('o.ben/s', 2),
          session('n/t', 3),
          session('u', 4),
        ],
      }),
    })

  test('are an owner’s by their names', async () => {
    const { call } = over(KEYED, listing)
    const names = async (owner: string | null) =>
      (await call('memory/session/list', {}, owner)).sessions.map((one) => [
        one.session,
        one.records,
      ])
    expect(await names('anna')).toEqual([['s', 1]])
    expect(await names(null)).toEqual([['t', 3]])
    expect(await names('carl')).toEqual([])
  })

  test('that are called alike are one for everybody', async () => {
    const { call } = over(KEYED, listing)
    const { sessions } = await call('memory/session/list', {}, undefined)
    expect(sessions.map((one) => [one.session, one.records])).toEqual([
      ['s', 3],
      ['t', 3],
      ['u', 4],
    ])
    expect(sessions[0]).toMatchObject({ tiers: { a: 3 }, opened_at: '2026-01-01T00:00:00.000Z' })
  })
})

test('a delete whose proof could not be read was not sent', async () => {
  const plain = new PlainMemory(KEYED)
  const faulty = new Faulty(plain)
  const { call, write } = as(ownersInMetadata(faulty).memory)
  await write('anna', { id: 'x', content: 'c' })
  faulty.fault = (method) => (method === 'memory/timeline' ? new Fault('cut', 'gone') : undefined)
  await expect(call('memory/forget', { ids: ['x'] }, 'anna')).rejects.toMatchObject({
    outcome: 'not_sent',
  })
  expect(plain.records).toHaveLength(1)
})
