import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { JsonText } from '../../src/protocol/json.js'
import type { MemoryRecord } from '../../src/protocol/records.js'
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

beforeAll(async () => {
  const gateway = await openMovingGateway(written, 'extended')
  const records = Array.from({ length: RECORDS }, (_, index) => ({
    id: `record-${index}`,
    content: `content ${index}`,
    metadata: new JsonText(index % 2 === 0 ? `{"n":${index}.0}` : '{}'),
    ...(index % 5 === 0 ? {} : { group: `group-${Math.floor(index / 5)}` }),
  }))
  await gateway.federation.call('memory/remember', { records }, alice())
  before = (await gateway.federation.call('memory/timeline', {}, alice())).records
  await gateway.close()
})
afterAll(() => folder.remove())

async function killedAt(
  path: string,
  receiver: Receiver,
  [step, occurrence]: readonly [string, number],
) {
  await cp(written, path, { recursive: true })
  const args = ['--import', 'tsx', MOVER, path, receiver, step, String(occurrence)]
  const mover = spawn(process.execPath, args, { stdio: 'inherit' })
  const [, signal] = await once(mover, 'exit')
  expect(signal).toBe('SIGKILL')
}

async function tiersOf(gateway: TestFederation) {
  const read = async (tier: string) =>
    (await gateway.federation.call('memory/timeline', { tier }, alice())).records
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
