import { expect, test } from 'vitest'
import { Fault } from '../../../src/protocol/errors.js'
import type { Description } from '../../../src/protocol/methods.js'
import { anyContext } from '../../support/federation-contexts.js'
import { HandClock } from '../../support/hand-clock.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'
import { describing, Gated, listening, upstreamOver } from '../../support/upstreams.js'

const DOWN = new Fault('unreachable', 'connection refused')
const recall = (upstream: ReturnType<typeof upstreamOver>) =>
  upstream.memory.call('memory/recall', {}, anyContext())

function faultyUpstream(stored?: string) {
  const told = listening()
  const faulty = new Faulty(new PlainMemory())
  const kept: string[] = []
  const upstream = upstreamOver('a', faulty, {
    events: told.events,
    stored,
    store: (profile) => kept.push(profile),
    config: { retries: 0, breaker: { failures: 2, reset: 1000 } },
  })
  return { told, faulty, upstream, kept }
}

test('it is unread until it has described itself', async () => {
  const { told, faulty, upstream } = faultyUpstream()
  expect([upstream.state, upstream.profile]).toEqual(['unread', undefined])
  faulty.fault = () => DOWN
  await upstream.refresh()
  expect([upstream.state, upstream.reason]).toEqual(['unread', 'connection refused'])
  faulty.fault = () => undefined
  await upstream.refresh()
  expect([upstream.state, upstream.reason]).toEqual(['up', undefined])
  expect(told.states).toEqual(['unread', 'up'])
})

test('an outage takes no profile away, over a restart neither', async () => {
  const { faulty, upstream, kept } = faultyUpstream()
  await upstream.refresh()
  const { profile } = upstream
  faulty.fault = () => DOWN
  await upstream.refresh()
  expect([upstream.state, upstream.profile]).toEqual(['down', profile])
  const restarted = faultyUpstream(kept[0])
  expect([restarted.upstream.state, restarted.upstream.profile]).toEqual(['down', profile])
})

test('another version keeps it out, and it comes back when it speaks ours', async () => {
  let protocol = 'a2m/0.2'
  const told = listening()
  const inner = { current: new PlainMemory({ protocol }) }
  const upstream = upstreamOver(
    'a',
    {
      call: (method, params) => inner.current.call(method, params),
      close: async () => {},
    },
    { events: told.events },
  )
  await upstream.refresh()
  expect([upstream.state, upstream.reason]).toEqual(['incompatible', 'speaks a2m/0.2, not a2m/0.1'])
  protocol = 'a2m/0.1'
  inner.current = new PlainMemory({ protocol })
  await upstream.refresh()
  expect(upstream.state).toBe('up')
  expect(told.states).toEqual(['incompatible', 'up'])
})

test('a capability that was added shows after the next reading', async () => {
  const inner = { current: new PlainMemory() }
  const upstream = upstreamOver('a', {
    call: (method, params) => inner.current.call(method, params),
    close: async () => {},
  })
  await upstream.refresh()
  expect(upstream.profile?.capabilities.has('scopes')).toBe(false)
  inner.current = new PlainMemory({ capabilities: ['core', 'scopes'] })
  await upstream.refresh()
  expect(upstream.profile?.capabilities.has('scopes')).toBe(true)
})

test('however many refresh it at once, it is asked once', async () => {
  const plain = new PlainMemory()
  const upstream = upstreamOver('a', plain)
  await Promise.all(Array.from({ length: 200 }, () => upstream.refresh()))
  expect(plain.asked.filter(({ method }) => method === 'memory/describe')).toHaveLength(1)
})

test('a describe that fails says nothing against an upstream that answers meanwhile', async () => {
  const gated = new Gated()
  const { told, faulty, kept } = faultyUpstream()
  const describe = new Faulty(faulty)
  const upstream = upstreamOver(
    'a',
    {
      call: (method, params, context) =>
        method === 'memory/describe'
          ? gated.call(method, params, context)
          : describe.call(method, params, context),
      close: async () => {},
    },
    { events: told.events, store: (profile) => kept.push(profile) },
  )
  const first = upstream.refresh()
  gated.waiting[0]?.pass()
  await first
  const second = upstream.refresh()
  await recall(upstream)
  gated.waiting[1]?.fail(new Fault('timeout', 'too slow'))
  await second
  expect(upstream.state).toBe('up')
  const third = upstream.refresh()
  gated.waiting[2]?.fail(new Fault('timeout', 'too slow'))
  await third
  expect([upstream.state, upstream.reason]).toEqual(['down', 'too slow'])
  await recall(upstream)
  expect([upstream.state, upstream.reason]).toEqual(['up', undefined])
})

test('it is down while its breaker is open', async () => {
  const { told, faulty, upstream } = faultyUpstream()
  await upstream.refresh()
  faulty.fault = () => DOWN
  for (let n = 0; n < 2; n++) await expect(recall(upstream)).rejects.toBe(DOWN)
  expect(upstream.state).toBe('down')
  expect(told.breakers).toEqual(['open'])
})

test('discovery goes round an open breaker', async () => {
  const { faulty, upstream } = faultyUpstream()
  faulty.fault = (method) => (method === 'memory/recall' ? DOWN : undefined)
  for (let n = 0; n < 2; n++) await expect(recall(upstream)).rejects.toBe(DOWN)
  await upstream.refresh()
  expect(upstream.profile).toBeDefined()
})

interface WellKnown {
  readonly wellKnown: () => Promise<Description | undefined>
  readonly settled: Promise<unknown>
}

test.each([
  ['the same', () => Promise.resolve(describing()), 0],
  ['another', () => Promise.resolve(describing({ capabilities: ['core', 'keys'] })), 1],
  ['none', () => Promise.resolve(undefined), 0],
  ['an error', () => Promise.reject(DOWN), 0],
] as const)('a well-known profile that says %s', async (_, read, mismatches) => {
  const told = listening()
  const reading: WellKnown = { wellKnown: read, settled: read().catch(() => undefined) }
  const reached = { memory: new PlainMemory(), wellKnown: reading.wellKnown }
  const upstream = upstreamOver('a', reached.memory, { reached, events: told.events })
  await upstream.refresh()
  await reading.settled
  expect(upstream.state).toBe('up')
  expect(told.mismatches).toEqual(Array.from({ length: mismatches }, () => 'a'))
})

test('a well-known profile that hangs keeps nobody out', async () => {
  const memory = new PlainMemory()
  const reached = { memory, wellKnown: () => new Promise<undefined>(() => {}) }
  const upstream = upstreamOver('a', memory, { reached })
  await upstream.refresh()
  expect(upstream.state).toBe('up')
})

test('a profile that cannot be stored is used all the same', async () => {
  const upstream = upstreamOver('a', new PlainMemory(), {
    store: () => {
      throw new Error('disk full')
    },
  })
  await upstream.refresh()
  expect(upstream.profile).toBeDefined()
})

test('a reading may take five times as long as a call', async () => {
  const clock = new HandClock()
  let patience = 0
  const upstream = upstreamOver(
    'a',
    {
      async call(_, __, { deadline }) {
        patience = deadline - clock.monotonic()
        throw DOWN
      },
      close: async () => {},
    },
    { clock, config: { timeout: 300 } },
  )
  await upstream.refresh()
  expect(patience).toBe(1500)
})
