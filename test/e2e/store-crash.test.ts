import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/protocol/time.js'
import { openStore } from '../../src/stores/store.js'
import { type BuiltProgram, buildProgram } from '../support/built-program.js'
import { contextWithin } from '../support/contexts.js'

const WRITER = fileURLToPath(new URL('../support/dying-writer.ts', import.meta.url))

let dying: BuiltProgram
beforeAll(async () => {
  dying = await buildProgram(WRITER)
})
afterAll(() => dying.remove())

/** Runs the writer until it has confirmed so many batches, kills it in the middle of the next and returns the last confirmed. */
async function writeAndDie(path: string, batches: number): Promise<number> {
  const writer = spawn(process.execPath, [dying.path, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(writer, 'exit')
  let confirmed = -1
  for await (const line of createInterface(writer.stdout)) {
    confirmed = Number(line)
    if (confirmed >= batches) writer.kill('SIGKILL')
  }
  expect((await exit)[1]).toBe('SIGKILL')
  return confirmed
}

test.each([0, 1, 7, 40])(
  'killed after %i batches: every confirmed one is whole, none is half',
  async (batches) => {
    const folder = mkdtempSync(join(tmpdir(), 'store-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'facts.db')
    const confirmed = await writeAndDie(path, batches)
    const store = openStore({ path }, { clock: systemClock, newId: () => 'after' })
    const { records } = await store.call('memory/timeline', {}, contextWithin(1000))
    const sizes = new Map<string, number>()
    for (const { group = '' } of records) sizes.set(group, (sizes.get(group) ?? 0) + 1)
    for (let batch = 0; batch <= confirmed; batch++) expect(sizes.get(`b${batch}`)).toBe(20)
    expect(new Set(sizes.values())).toEqual(new Set([20]))
    const found = await store.call(
      'memory/recall',
      { query: 'notes', limit: 0 },
      contextWithin(1000),
    )
    expect(found.records).toHaveLength(records.length)
    const { tiers = [] } = await store.call('memory/describe', {}, contextWithin(1000))
    expect(tiers.reduce((sum, { count }) => sum + count, 0)).toBe(records.length)
    await store.close()
  },
)
