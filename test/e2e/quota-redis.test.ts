import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { connectRedis } from '../../src/metering/quota-redis.js'
import { startRedis } from '../support/services.js'

const LIFE = 60_000

async function counts() {
  const redis = await startRedis()
  const remote = await connectRedis({ url: redis.url, connectTimeout: 1000, lost: () => {} })
  onTestFinished(() => remote.close())
  const client = new Redis(redis.url)
  onTestFinished(() => client.disconnect())
  return { remote, client }
}

const take = (key: string, amount: number, limit?: number) => ({ key, amount, limit, life: LIFE })

test('all takes are made or none', async () => {
  const { remote } = await counts()
  expect(await remote.reserve([take('a', 3, 5), take('b', 1, 10)])).toEqual({
    by: undefined,
    used: [3, 1],
  })
  expect(await remote.reserve([take('b', 1, 10), take('a', 3, 5)])).toEqual({ by: 1, used: [1, 3] })
  expect(await remote.reserve([take('a', 2, 5), take('b', 0, 10)])).toEqual({
    by: undefined,
    used: [5, 1],
  })
  expect(await remote.reserve([take('a', 7)])).toEqual({ by: undefined, used: [12] })
})

test('of 1,000 takes at once from two sides exactly as many are made as fit', async () => {
  const { remote, client } = await counts()
  const { host, port } = client.options
  const lost = () => {}
  const other = await connectRedis({ url: `redis://${host}:${port}`, connectTimeout: 1000, lost })
  onTestFinished(() => other.close())
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, index) =>
      (index % 2 ? remote : other).reserve([take('a', 1, 100)]),
    ),
  )
  expect(answers.filter(({ by }) => by === undefined)).toHaveLength(100)
})

test('settling gives back, never below nothing, and brings nothing back that is over', async () => {
  const { remote, client } = await counts()
  await remote.reserve([take('a', 5, 5)])
  await remote.settle([{ key: 'a', amount: -3 }])
  expect((await remote.reserve([take('a', 0)])).used).toEqual([2])
  await remote.settle([{ key: 'a', amount: -9 }])
  expect((await remote.reserve([take('a', 0)])).used).toEqual([0])
  await remote.settle([{ key: 'over', amount: -1 }])
  expect(await client.exists('over')).toBe(0)
})

test('every key goes by itself', async () => {
  const { remote, client } = await counts()
  await remote.reserve([take('a', 1)])
  await remote.raise([{ ...take('b', 1), known: 3 }], 'lost')
  await remote.claim('c', LIFE)
  for (const key of ['a', 'b', 'c']) {
    const left = await client.pttl(key)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(LIFE)
  }
})

test('one claim of a key succeeds, and one mark stands', async () => {
  const { remote } = await counts()
  expect([await remote.claim('k', LIFE), await remote.claim('k', LIFE)]).toEqual([true, false])
  expect([await remote.mark('m', 'one'), await remote.mark('m', 'two')]).toEqual(['one', 'one'])
})

test('what was lost is made up for from what each side knew, and has taken since', async () => {
  const { remote } = await counts()
  const raise = (known: number, amount: number) => ({ ...take('a', amount), known })
  expect(await remote.raise([raise(41, 29)], 'lost')).toEqual([70])
  expect((await remote.reserve([take('a', 1)])).used).toEqual([71])
  expect(await remote.raise([raise(42, 10)], 'lost')).toEqual([82])
  expect(await remote.raise([raise(80, 5)], 'kept')).toEqual([87])
  expect(await remote.raise([raise(90, 0)], 'kept')).toEqual([90])
  await remote.settle([{ key: 'a', amount: -89 }])
  expect((await remote.reserve([take('a', 0)])).used).toEqual([1])
})

test('a Redis that has forgotten the scripts is told them again', async () => {
  const { remote, client } = await counts()
  await remote.reserve([take('a', 1)])
  await client.script('FLUSH')
  expect((await remote.reserve([take('a', 1)])).used).toEqual([2])
})
