import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { UpstreamConfig } from '../../../src/config/config.js'
import { Fault } from '../../../src/protocol/errors.js'
import type { Memory } from '../../../src/protocol/memory.js'
import { systemClock } from '../../../src/protocol/time.js'
import { createRegistry, type Registry } from '../../../src/upstreams/registry.js'
import { upstreamConfig } from '../../support/federation.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'
import { Gated, listening } from '../../support/upstreams.js'

const REFRESH = 60_000
const DOWN = new Fault('unreachable', 'connection refused')

let registry: Registry | undefined
beforeEach(() => void vi.useFakeTimers())
afterEach(async () => {
  await registry?.close()
  vi.useRealTimers()
})

function open(
  memories: Readonly<Record<string, Memory>>,
  { random = () => 0.5, config }: { random?: () => number; config?: Partial<UpstreamConfig> } = {},
) {
  const told = listening()
  const profiles = new Map<string, string>()
  const opened = createRegistry({
    configs: Object.keys(memories).map((name) =>
      upstreamConfig(name, { refresh: REFRESH, ...config }),
    ),
    reach: ({ name }) => ({ memory: memories[name] ?? new PlainMemory() }),
    profiles: {
      read: (name) => profiles.get(name),
      write: (name, profile) => void profiles.set(name, profile),
    },
    clock: systemClock,
    random,
    events: told.events,
  })
  registry = opened
  return { registry: opened, told, profiles }
}

const describes = (memory: PlainMemory) =>
  memory.asked.filter(({ method }) => method === 'memory/describe').length

test('200 cold calls wait for one reading of each upstream', async () => {
  const [a, b] = [new PlainMemory(), new PlainMemory()]
  const opened = open({ a, b })
  await Promise.all(Array.from({ length: 200 }, () => opened.registry.settled(1000)))
  expect([describes(a), describes(b)]).toEqual([1, 1])
  expect(opened.registry.upstreams.map(({ name, state }) => [name, state])).toEqual([
    ['a', 'up'],
    ['b', 'up'],
  ])
  expect([...opened.profiles.keys()]).toEqual(['a', 'b'])
})

test('nobody waits longer than its patience, nor for a reading after the first', async () => {
  const gated = new Gated()
  const { registry } = open({ a: gated })
  const waiting = vi.fn()
  const settled = registry.settled(500).then(waiting)
  await vi.advanceTimersByTimeAsync(499)
  expect(waiting).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  await settled
  gated.waiting[0]?.fail(DOWN)
  await vi.advanceTimersByTimeAsync(250)
  expect(gated.seen).toBe(2)
  await registry.settled(500)
  gated.waiting[1]?.fail(DOWN)
})

test('nobody waits for a first reading longer than a call of that upstream may take', async () => {
  const gated = new Gated()
  const { registry } = open({ a: gated }, { config: { timeout: 300 } })
  const waiting = vi.fn()
  const settled = registry.settled(2000).then(waiting)
  await vi.advanceTimersByTimeAsync(299)
  expect(waiting).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  await settled
  expect(gated.seen).toBe(1)
  gated.waiting[0]?.fail(DOWN)
})

test.each([
  [0, 0.8],
  [0.5, 1],
  [1, 1.2],
])('a random %f reads again after %f of the time', async (random, part) => {
  const plain = new PlainMemory()
  const { registry } = open({ a: plain }, { random: () => random })
  await registry.settled(0)
  await vi.advanceTimersByTimeAsync(REFRESH * part - 1)
  expect(describes(plain)).toBe(1)
  await vi.advanceTimersByTimeAsync(2)
  expect(describes(plain)).toBe(2)
})

test('what cannot be read is tried after 250 ms, then twice that, up to the refresh time', async () => {
  const faulty = new Faulty(new PlainMemory())
  const at: number[] = []
  const started = systemClock.monotonic()
  faulty.fault = () => {
    at.push(Math.round(systemClock.monotonic() - started))
    return DOWN
  }
  open({ a: faulty }, { config: { refresh: 1500 } })
  await vi.advanceTimersByTimeAsync(5000)
  expect(at).toEqual([0, 250, 750, 1750, 3250, 4750])
})

test('whatever changes an upstream counts the revision up', async () => {
  const faulty = new Faulty(new PlainMemory())
  const { registry, told } = open({ a: faulty })
  await registry.settled(0)
  const first = registry.revision()
  await vi.advanceTimersByTimeAsync(REFRESH)
  expect(registry.revision()).toBeGreaterThan(first)
  faulty.fault = () => DOWN
  await vi.advanceTimersByTimeAsync(REFRESH)
  expect(told.states).toEqual(['up', 'down'])
})

test('another version is kept out and reported, and heals when it changes', async () => {
  const inner = { current: new PlainMemory({ protocol: 'a2m/0.2' }) }
  const { registry, told } = open({
    a: { call: (method, params) => inner.current.call(method, params), close: async () => {} },
  })
  await vi.advanceTimersByTimeAsync(0)
  expect(registry.upstreams[0]?.state).toBe('incompatible')
  inner.current = new PlainMemory()
  await vi.advanceTimersByTimeAsync(250)
  expect(told.states).toEqual(['incompatible', 'up'])
})

test('closing ends the readings and the upstreams', async () => {
  const plain = new PlainMemory()
  const close = vi.spyOn(plain, 'close')
  const opened = open({ a: plain })
  await opened.registry.settled(0)
  await opened.registry.close()
  await vi.advanceTimersByTimeAsync(REFRESH * 2)
  expect(describes(plain)).toBe(1)
  expect(close).toHaveBeenCalledTimes(1)
})
