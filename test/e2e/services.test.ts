import { existsSync } from 'node:fs'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres, startRedis } from '../support/services.js'

test('a Redis of its own is empty, keeps its port over a stop, and forgets', async () => {
  const redis = await startRedis()
  const client = new Redis(redis.url, { lazyConnect: true })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  expect(await client.dbsize()).toBe(0)
  await client.set('a', '1')
  await redis.stop()
  await redis.start()
  expect(await client.get('a')).toBeNull()
})

test('a PostgreSQL of its own keeps what it had over a stop, and is gone when closed', async () => {
  const postgres = await startPostgres()
  const asked = async (sql: string) => {
    const client = new pg.Client(postgres.url)
    await client.connect()
    const { rows } = await client.query(sql)
    await client.end()
    return rows
  }
  await asked('create table t as select 7 as n')
  await postgres.stop()
  await postgres.start()
  expect(await asked('select n from t')).toEqual([{ n: 7 }])
  const [{ folder }] = await asked("select current_setting('data_directory') as folder")
  await postgres.close()
  expect(existsSync(folder)).toBe(false)
})
