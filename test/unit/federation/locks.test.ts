import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyedLock } from '../../../src/federation/locks.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { systemClock } from '../../../src/protocol/time.js'

const patient = { deadline: Number.POSITIVE_INFINITY, cancellation: new Cancellation() }

/** A task that tells of its begin and its end, and lasts until it is let go. */
function held(name: string, log: string[]) {
  let letGo: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const task = async () => {
    log.push(`${name} begins`)
    await gate
    log.push(`${name} ends`)
    return name
  }
  return { task, letGo }
}

const turns = () => new Promise(setImmediate)

test('tasks of one key go one after the other, in the order in which they came', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const tasks = ['1', '2', '3'].map((name) => held(name, log))
  const runs = tasks.map(({ task }) => lock.run(['k'], patient, task))
  for (const { letGo } of tasks.toReversed()) letGo()
  expect(await Promise.all(runs)).toEqual(['1', '2', '3'])
  expect(log).toEqual(['1', '2', '3'].flatMap((name) => [`${name} begins`, `${name} ends`]))
})

test('tasks of different keys go side by side, and a task without keys at once', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const [a, b, c] = [held('a', log), held('b', log), held('c', log)]
  const runs = [
    lock.run(['a'], patient, a.task),
    lock.run(['b'], patient, b.task),
    lock.run([], patient, c.task),
  ]
  await turns()
  expect(log.toSorted()).toEqual(['a begins', 'b begins', 'c begins'])
  for (const { letGo } of [a, b, c]) letGo()
  await Promise.all(runs)
})

test('a task of several keys waits for all of them, and holds them all', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const [a, both, b] = [held('a', log), held('both', log), held('b', log)]
  const runs = [
    lock.run(['a'], patient, a.task),
    lock.run(['a', 'b', 'a'], patient, both.task),
    lock.run(['b'], patient, b.task),
  ]
  await turns()
  expect(log).toEqual(['a begins'])
  a.letGo()
  await turns()
  expect(log).toEqual(['a begins', 'a ends', 'both begins'])
  both.letGo()
  b.letGo()
  await Promise.all(runs)
  expect(log.slice(3)).toEqual(['both ends', 'b begins', 'b ends'])
})

test.each([
  ['rejects', () => Promise.reject(new Error('no'))],
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
])('a task that %s tells its caller and blocks nobody', async (_, fails) => {
  const lock = new KeyedLock(systemClock)
  const failed = lock.run(['k'], patient, fails)
  const next = lock.run(['k'], patient, async () => 'done')
  await expect(failed).rejects.toThrow('no')
  expect(await next).toBe('done')
})

test('a task that has begun is not called off, by no deadline and by no caller that leaves', async () => {
  let now = 0
  const lock = new KeyedLock({ now: () => now, monotonic: () => now })
  const log: string[] = []
  const [first, second] = [held('first', log), held('second', log)]
  const cancellation = new Cancellation()
  const running = lock.run(['k'], patient, first.task)
  const queued = lock.run(['k'], { ...patient, deadline: 5, cancellation }, second.task)
  first.letGo()
  await running
  await turns()
  expect(log).toContain('second begins')
  now = 10
  cancellation.cancel()
  await new Promise((resolve) => setTimeout(resolve, 10))
  second.letGo()
  expect(await queued).toBe('second')
})

/** Notes who works under which key, and in which order they came to it. */
class Witness {
  readonly orders = new Map<string, number[]>()
  readonly #busy = new Set<string>()

  enter(keys: readonly string[], index: number): void {
    for (const key of new Set(keys)) {
      expect(this.#busy.has(key)).toBe(false)
      this.#busy.add(key)
      this.orders.set(key, [...(this.orders.get(key) ?? []), index])
    }
  }

  leave(keys: readonly string[]): void {
    for (const key of keys) this.#busy.delete(key)
  }
}

test('any tasks of any keys end, and no two of one key overlap', async () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 })
  const task = fc.record({ keys, waits: fc.integer({ min: 0, max: 4 }), fails: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(task, { maxLength: 25 }), async (tasks) => {
      const lock = new KeyedLock(systemClock)
      const witness = new Witness()
      const runs = tasks.map(({ keys, waits, fails }, index) =>
        lock.run(keys, patient, async () => {
          witness.enter(keys, index)
          for (let n = 0; n < waits; n++) await Promise.resolve()
          witness.leave(keys)
          if (fails) throw new Error('fails')
        }),
      )
      const ends = await Promise.allSettled(runs)
      expect(ends.map(({ status }) => status)).toEqual(
        tasks.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
      )
      for (const indices of witness.orders.values()) {
        expect(indices).toEqual(indices.toSorted((a, b) => a - b))
      }
    }),
  )
})

test('a task whose deadline passes before its turn never runs, and holds up nobody', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const [first, last] = [held('first', log), held('last', log)]
  const running = lock.run(['k'], patient, first.task)
  const hasty = { ...patient, deadline: systemClock.monotonic() + 5 }
  const late = lock.run(['k'], hasty, async () => log.push('late begins'))
  const next = lock.run(['k'], patient, last.task)
  await expect(late).rejects.toMatchObject({ kind: 'busy', outcome: 'not_sent' })
  first.letGo()
  last.letGo()
  await Promise.all([running, next])
  expect(log).toEqual(['first begins', 'first ends', 'last begins', 'last ends'])
})

test('a task whose caller leaves before its turn never runs', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const first = held('first', log)
  const running = lock.run(['k'], patient, first.task)
  const cancellation = new Cancellation()
  const left = lock.run(['k'], { ...patient, cancellation }, async () => log.push('left begins'))
  cancellation.cancel()
  await expect(left).rejects.toMatchObject({ kind: 'cancelled', outcome: 'not_sent' })
  first.letGo()
  await running
  expect(log).toEqual(['first begins', 'first ends'])
})

test('those that share a key go side by side; one that wants it alone comes between', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const tasks = ['a', 'b', 'alone', 'c'].map((name) => ({ name, ...held(name, log) }))
  const runs = tasks.map(({ name, task }) =>
    lock.run([name === 'alone' ? 'k' : { shared: 'k' }], patient, task),
  )
  await turns()
  expect(log).toEqual(['a begins', 'b begins'])
  expect(lock.holding('k')).toBe('alone')
  for (const { letGo } of tasks.slice(0, 3)) letGo()
  await turns()
  expect(log.slice(2)).toEqual(['a ends', 'b ends', 'alone begins', 'alone ends', 'c begins'])
  expect(lock.holding('k')).toBe('shared')
  tasks[3]?.letGo()
  expect(await Promise.all(runs)).toEqual(['a', 'b', 'alone', 'c'])
})

test('a key that is wanted alone and shared at once is held alone', async () => {
  const lock = new KeyedLock(systemClock)
  const log: string[] = []
  const [both, next] = [held('both', log), held('next', log)]
  const runs = [
    lock.run([{ shared: 'k' }, 'k', { shared: 'k' }], patient, both.task),
    lock.run([{ shared: 'k' }], patient, next.task),
  ]
  await turns()
  expect(log).toEqual(['both begins'])
  both.letGo()
  next.letGo()
  await Promise.all(runs)
  expect(log).toEqual(['both begins', 'both ends', 'next begins', 'next ends'])
})

/** Notes who holds a key, and that whoever holds it alone is alone. */
class Holders {
  readonly #holding = new Map<string, ('alone' | 'shared')[]>()

  enter(modes: ReadonlyMap<string, 'alone' | 'shared'>): void {
    for (const [key, mode] of modes) {
      const others = this.#holding.get(key) ?? []
      expect(mode === 'alone' ? others : others.filter((one) => one === 'alone')).toEqual([])
      this.#holding.set(key, [...others, mode])
    }
  }

  leave(modes: ReadonlyMap<string, 'alone' | 'shared'>): void {
    for (const key of modes.keys()) this.#holding.set(key, this.#holding.get(key)?.slice(1) ?? [])
  }
}

test('in any mixture, whoever holds a key alone is alone', async () => {
  const mode = fc.constantFrom('alone' as const, 'shared' as const)
  const modes = fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), mode), { maxLength: 3 })
    .map((entries) => new Map(entries))
  const task = fc.record({ modes, waits: fc.integer({ min: 0, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(task, { maxLength: 25 }), async (tasks) => {
      const lock = new KeyedLock(systemClock)
      const holders = new Holders()
      const runs = tasks.map(({ modes: wanted, waits }) => {
        const keys = [...wanted].map(([key, how]) => (how === 'alone' ? key : { shared: key }))
        return lock.run(keys, patient, async () => {
          holders.enter(wanted)
          for (let n = 0; n < waits; n++) await Promise.resolve()
          holders.leave(wanted)
        })
      })
      await Promise.all(runs)
      await turns()
      expect(['a', 'b', 'c'].flatMap((key) => lock.holding(key) ?? [])).toEqual([])
    }),
  )
})
