import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { Fault } from '../../src/protocol/errors.js'
import type { Memory } from '../../src/protocol/memory.js'
import { systemClock } from '../../src/protocol/time.js'
import type { Restart } from '../../src/transport/events.js'
import { createWorkerStore, type WorkerStoreOptions } from '../../src/transport/in-process.js'
import { contextWithin } from '../support/contexts.js'
import { Log } from '../support/log.js'

const BAD_WORKER = new URL('../support/bad-worker.mjs', import.meta.url)

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function start(options: Omit<WorkerStoreOptions, 'clock' | 'random'>): Promise<Memory> {
  const memory = await createWorkerStore({ clock: systemClock, random: () => 1, ...options })
  ends.push(() => memory.close())
  return memory
}

const startBad = (kind: string, options: Partial<WorkerStoreOptions> = {}) =>
  start({ entry: BAD_WORKER, workerData: { path: ':memory:', name: kind }, grace: 200, ...options })

async function recall(memory: Memory, query: string, limit = 10_000): Promise<unknown> {
  const { records } = await memory.call('memory/recall', { query }, contextWithin(limit))
  return records[0]?.content
}

test('the built-in store runs in a thread and keeps what it is told', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'store-'))
  ends.push(() => rmSync(directory, { recursive: true }))
  const workerData = { path: join(directory, 'facts.db'), name: 'facts' }
  const memory = await start({ workerData })
  const records = [{ content: 'the deploy key rotates every 90 days' }]
  const { ids } = await memory.call('memory/remember', { records }, contextWithin(10_000))
  await memory.close()
  const again = await start({ workerData })
  const found = await again.call('memory/recall', { query: 'deploy' }, contextWithin(10_000))
  expect(found.records.map(({ id }) => id)).toEqual(ids)
})

test('a store that cannot open its file says so when it is started', async () => {
  const workerData = { path: join(tmpdir(), 'no\0such', 'facts.db') }
  await expect(start({ workerData })).rejects.toThrow(/\S/)
  await expect(startBad('failing')).rejects.toThrow('cannot open facts.db')
  await expect(startBad('throwing')).rejects.toThrow('no such table')
  await expect(startBad('exiting')).rejects.toThrow('ended')
})

test('calls to a thread are matched by id', async () => {
  const memory = await startBad('healthy')
  const queries = Array.from({ length: 200 }, (_, index) => `query ${index}`)
  expect(await Promise.all(queries.map((query) => recall(memory, query)))).toEqual(queries)
})

test('a thread that dies cuts what is under way, and is back after a while', async () => {
  const restarts = new Log<Restart>()
  const memory = await startBad('crashing', {
    events: { onRestart: (restart) => restarts.add(restart) },
    backoff: { first: 50, longest: 50, stable: 10_000 },
  })
  expect(await recall(memory, 'before')).toBe('before')
  const thrown = await recall(memory, 'crash').catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(Fault)
  expect(thrown).toMatchObject({ kind: 'cut', outcome: 'unknown' })
  expect(String(thrown)).not.toContain('/secret')
  await expect(recall(memory, 'down')).rejects.toMatchObject({ kind: 'unreachable' })
  expect(restarts.all).toEqual([{ attempt: 1, delay: 50, reason: 'disk /secret/path is gone' }])
  await vi.waitFor(async () => expect(await recall(memory, 'after')).toBe('after'))
})

test('a thread has none of our environment', async () => {
  vi.stubEnv('CANARY', 'canary')
  const memory = await startBad('environment')
  vi.unstubAllEnvs()
  expect(await recall(memory, 'q')).toBe('{}')
})

test('closing ends even a thread that does not heed it', async () => {
  const memory = await startBad('stubborn')
  await memory.close()
  await expect(recall(memory, 'q')).rejects.toMatchObject({ kind: 'unavailable' })
})
