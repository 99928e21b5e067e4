import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { faultsAround } from '../../src/app/surroundings.js'
import { loadConfig } from '../../src/config/load.js'
import { emptyFolder } from '../support/gateway-process.js'
import { startPostgres, startRedis } from '../support/services.js'

function faults(config: object, cwd = '/nowhere') {
  return faultsAround(loadConfig({ text: JSON.stringify(config), file: 'a.yaml', env: {}, cwd }))
}

const limits = { calls: { of: 'calls', per: 'caller', window: 'day', limit: 1 } }
const countedIn = (redis: string) => ({ quotas: { limits, redis, on_failure: 'open' } })
const keptIn = (postgres: string) => ({ usage: { ledger: { postgres } } })

test('Redis is asked', async () => {
  const redis = await startRedis()
  expect(await faults(countedIn(redis.url))).toEqual([])
  const { host } = new URL(redis.url)
  const [refused] = await faults(countedIn(`redis://user:wrong-word@${host}/0`))
  expect(refused).toMatch(`quotas.redis: ${host} does not answer: WRONGPASS`)
  expect(refused).not.toContain('wrong-word')
  redis.pause()
  const silent = await faults(countedIn(redis.url))
  redis.resume()
  expect(silent).toEqual([expect.stringMatching(/^quotas\.redis: .* does not answer: ./)])
  await redis.stop()
  expect(await faults(countedIn(redis.url))).toEqual([
    expect.stringMatching(/^quotas\.redis: .* does not answer: .*ECONNREFUSED/),
  ])
})

test('PostgreSQL is asked', async () => {
  const postgres = await startPostgres()
  expect(await faults(keptIn(postgres.url))).toEqual([])
  const elsewhere = new URL('/nowhere', postgres.url)
  expect(await faults(keptIn(elsewhere.href))).toEqual([
    expect.stringMatching(/^usage\.ledger\.postgres: .*: database "nowhere" does not exist$/),
  ])
  postgres.pause()
  const silent = await faults(keptIn(postgres.url))
  postgres.resume()
  expect(silent).toEqual([expect.stringMatching(/^usage\.ledger\.postgres: .* does not answer: ./)])
  await postgres.stop()
  expect(await faults(keptIn(postgres.url))).toEqual([
    expect.stringMatching(/^usage\.ledger\.postgres: .*ECONNREFUSED/),
  ])
})

describe('files', () => {
  test('that can be written leave nothing behind', async () => {
    const cwd = emptyFolder()
    const usage = { sinks: { file: { jsonl: 'c/usage.jsonl' } } }
    const config = { data_dir: '.', audit: { path: 'a/b/audit.jsonl' }, usage }
    expect(await faults(config, cwd)).toEqual([])
    expect(readdirSync(cwd)).toEqual([])
  })

  test('that cannot be are told, each with its setting', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'file'), '')
    mkdirSync(join(cwd, 'folder'))
    const usage = { sinks: { one: { jsonl: 'folder' }, two: { jsonl: '/proc/a2m/usage.jsonl' } } }
    const config = { data_dir: '.', audit: { path: 'file/x/audit.jsonl' }, usage }
    expect(await faults(config, cwd)).toEqual([
      expect.stringMatching(/^audit\.path: .*audit\.jsonl cannot be written: /),
      expect.stringMatching(/^usage\.sinks\.one\.jsonl: .* cannot be written: it is a folder$/),
      expect.stringMatching(/^usage\.sinks\.two\.jsonl: .* cannot be written: ENOENT/),
    ])
  })
})
