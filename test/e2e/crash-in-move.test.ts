import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { JsonText } from '../../src/protocol/json.js'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { type BuiltProgram, buildProgram } from '../support/built-program.js'
import { type TestFederation, temporaryFolder } from '../support/federation.js'
import { ownerContext } from '../support/federation-contexts.js'
import { openMovingGateway, type Receiver } from '../support/moving-gateway.js'

const MOVER = fileURLToPath(new URL('../support/dying-mover.ts', import.meta.url))
const RECORDS = 200
const STEPS = ['begun', 'copied', 'verified', 'deleted', 'ended']
const POINTS = STEPS.flatMap((step) => [1, 2].map((occurrence) => [step, occurrence] as const))

const alice = () => ownerContext('alice', { deadline: Number.POSITIVE_INFINITY })
const folder = temporaryFolder()
const written = join(folder.path, 'written')
let before: readonly MemoryRecord[]

let mover: BuiltProgram

beforeAll(async () => {
  mover = await buildProgram(MOVER)
  let gateway = await openMovingGateway(written, 'extended')
  const records = Array.from({ length: RECORDS }, (_, index) => ({
    id: `record-${index}`,
    content: `content ${index}`,
    metadata: new JsonText(index % 2 === 0 ? `{"n":${index}.0}` : '{}'),
    ...(index % 5 === 0 ? {} : { group: `group-${Math.floor(index / 5)}` }),
    ...(index % 3 === 0 ? { session: `session-${index % 2}`, salience: index / 7 } : {}),
    ...(index % 4 === 0 ? { key: `keys/${index}`, embedding: [index / 3, -0, 1e-300] } : {}),
    ...(index % 6 === 0 ? { uri: `urn:record:${index}`, media_type: 'text/plain' } : {}),
  }))
  await gateway.federation.call('memory/remember', { records }, alice())
  const rewritten = { key: 'keys/4', content: 'content 4, once more' }
  await gateway.federation.call('memory/remember', { records: [rewritten] }, alice())
  await gateway.federation.call('memory/recall', { query: 'content', limit: 3 }, alice())
  await gateway.close()
  gateway = await openMovingGateway(written, 'extended')
  before = (await gateway.federation.call('memory/timeline', { embeddings: true }, alice())).records
  expect(before.find(({ key }) => key === 'keys/4')).toMatchObject({ revision: 1 })
  expect(before.some(({ access_count = 0 }) => access_count > 0)).toBe(true)
  await gateway.close()
})
afterAll(() => {
  folder.remove()
  mover.remove()
})

async function killedAt(
  path: string,
  receiver: Receiver,
  [step, occurrence, ...session]: readonly [string, number, ...string[]],
) {
  await cp(written, path, { recursive: true })
  const args = [mover.path, path, receiver, step, String(occurrence), ...session]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
}

async function tiersOf(gateway: TestFederation) {
  const read = async (tier: string) =>
    (await gateway.federation.call('memory/timeline', { tier, embeddings: true }, alice())).records
  return { hot: await read('hot'), cold: await read('cold') }
}

const plain = (records: readonly MemoryRecord[]) =>
  new Map(records.map(({ tier: _, ...record }) => [record.id, record]))

describe.each(['extended', 'plain'] as const)('to a receiver that is %s', (receiver) => {
  test.each(POINTS)(
    'killed at "%s", time %i: each record is in one tier, whole',
    async (...point) => {
      const path = join(folder.path, `${receiver}-${point.join('-')}`)
      await killedAt(path, receiver, point)
      const gateway = await openMovingGateway(path, receiver)
      const { hot, cold } = await tiersOf(gateway)
      expect(gateway.unfinished).toEqual([])
      expect(gateway.state.journal.openMoves()).toEqual([])
      expect(hot.length + cold.length).toBe(RECORDS)
      expect(plain([...hot, ...cold])).toEqual(plain(before))
      const splits = hot.filter((record) =>
        cold.some(({ group }) => group !== undefined && group === record.group),
      )
      expect(splits).toEqual([])
      await gateway.close()
    },
  )
})

test.each([
  ['begun', 1],
  ['copied', 1],
  ['ended', 1],
  ['deleted', 2],
] as const)(
  'killed at "%s", time %i, of a session that is closed: all of it has gone on',
  async (...point) => {
    const path = join(folder.path, `closing-${point.join('-')}`)
    await killedAt(path, 'extended', [...point, 'session-0'])
    const gateway = await openMovingGateway(path, 'extended')
    const { hot, cold } = await tiersOf(gateway)
    expect(gateway.state.journal.openMoves()).toEqual([])
    expect(plain([...hot, ...cold])).toEqual(plain(before))
    const gone = new Set(cold.map(({ id }) => id))
    const groups = new Set(
      before.filter(({ session }) => session === 'session-0').map(({ id, group = id }) => group),
    )
    const closed = before.filter(({ id, group = id }) => groups.has(group)).map(({ id }) => id)
    expect(closed.length).toBeGreaterThan(100)
    expect([...gone].toSorted()).toEqual(closed.toSorted())
    await gateway.close()
  },
)

test('a forget between the copy and the crash wins', async () => {
  const path = join(folder.path, 'forgotten')
  await killedAt(path, 'extended', ['copied', 1])
  const state = (await import('../../src/state/state.js')).openState({
    path: join(path, 'gateway.db'),
    durability: 'normal',
  })
  const [open] = state.journal.openMoves()
  const victim = open?.ids[0] ?? ''
  state.journal.markForgotten('alice', [victim])
  state.close()
  const gateway = await openMovingGateway(path, 'extended')
  const { hot, cold } = await tiersOf(gateway)
  expect([...hot, ...cold].map(({ id }) => id)).not.toContain(victim)
  expect(hot.length + cold.length).toBe(RECORDS - 1)
  await gateway.close()
})
