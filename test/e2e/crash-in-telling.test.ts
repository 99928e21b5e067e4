import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BuiltProgram, buildProgram } from '../support/built-program.js'
import { temporaryFolder } from '../support/federation.js'
import { type ActName, openTellingGateway, prepare, teller } from '../support/telling-gateway.js'

const TELLER = fileURLToPath(new URL('../support/dying-teller.ts', import.meta.url))
const folder = temporaryFolder()
const prepared = join(folder.path, 'prepared')
let dying: BuiltProgram
let cursor: string

beforeAll(async () => {
  dying = await buildProgram(TELLER)
  await mkdir(prepared)
  const gateway = await openTellingGateway(prepared)
  await prepare(gateway)
  cursor = (await gateway.federation.call('memory/events', {}, teller())).cursor
  await gateway.close()
})
afterAll(() => {
  folder.remove()
  dying.remove()
})

/** The events after a crash at a step and the next start, and once more after another start. */
async function toldAfter(act: ActName, step: string) {
  const path = join(folder.path, `${act}-${step}`)
  await cp(prepared, path, { recursive: true })
  const args = [dying.path, path, act, step]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const [code, signal] = await once(child, 'exit')
  const told: unknown[][] = []
  for (let starts = 0; starts < 2; starts++) {
    const gateway = await openTellingGateway(path)
    expect(gateway.unfinished).toEqual([])
    const { events } = await gateway.federation.call('memory/events', { cursor }, teller())
    told.push(events)
    await gateway.close()
  }
  expect(told[1]).toEqual(told[0])
  return { killed: signal === 'SIGKILL', code, events: told[0] ?? [] }
}

const WRITTEN = [
  { kind: 'written', id: 'new', tier: 'hot' },
  { kind: 'written', tier: 'cold' },
]
const REWRITTEN = [{ kind: 'written', id: 'r5', key: 'k', revision: 1 }]
const FORGOTTEN = [{ kind: 'forgotten', count: 2 }]
const PROMOTED = [{ kind: 'promoted', ids: expect.arrayContaining(['r0', 'r1']), tier: 'cold' }]
const SPILT = { kind: 'consolidated', moved: 4, promoted: 0, dropped: 0, summarized: 0 }
const CLOSED = [
  { ...SPILT, moved: 6 },
  { kind: 'session_closed', session: 's' },
]

test.each<[ActName, readonly object[]]>([
  ['write', WRITTEN],
  ['rewrite', REWRITTEN],
  ['forget', FORGOTTEN],
  ['promote', PROMOTED],
  ['consolidate', [SPILT]],
  ['close', CLOSED],
])(
  '%s: killed before anything was done, done but not told, and told: none, one and one',
  async (act, events) => {
    expect(await toldAfter(act, 'intended')).toMatchObject({ killed: true, events: [] })
    for (const step of ['telling', 'told']) {
      const after = await toldAfter(act, step)
      expect(after.killed).toBe(true)
      expect(after.events).toHaveLength(events.length)
      expect(after.events).toMatchObject(events)
    }
  },
)

test.each<[string, ActName, readonly object[]]>([
  ['copied', 'promote', PROMOTED],
  ['deleted', 'promote', PROMOTED],
  ['begun', 'close', CLOSED],
  ['copied', 'close', CLOSED],
  ['verified', 'close', CLOSED],
  ['deleted', 'close', CLOSED],
  ['ended', 'close', CLOSED],
])(
  'killed in a move at "%s": the %s that it was a part of is told whole and once',
  async (step, act, events) => {
    expect(await toldAfter(act, step)).toMatchObject({ killed: true, events })
  },
)

test.each([
  ['forgetting', []],
  ['forgotten', FORGOTTEN],
])('killed in a forget at "%s"', async (step, events) => {
  expect(await toldAfter('forget', step)).toMatchObject({ killed: true, events })
})

test('without a kill each is told once', async () => {
  expect(await toldAfter('write', 'never')).toMatchObject({ code: 0, events: WRITTEN })
})
