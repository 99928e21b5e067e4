import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withMetering } from '../../../src/metering/with-metering.js'
import { type QuotaOptions, withQuotas } from '../../../src/metering/with-quotas.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import type { Caller, Context } from '../../../src/protocol/memory.js'
import type { Method, ParamsOf } from '../../../src/protocol/methods.js'
import type { Served } from '../../../src/protocol/serve.js'
import type { LimitStanding } from '../../../src/protocol/usage.js'
import { contextWithin } from '../../support/contexts.js'
import { meets } from '../../support/meets.js'
import { type Limited, limiterOf, MINUTE, QuotaLog, WallClock } from '../../support/quotas.js'

const ALICE: Caller = {
  name: 'alice',
  roles: ['agent'],
  scope: { kind: 'owners', owners: ['alice'] },
}
const ROOT: Caller = { name: 'root', roles: [], scope: { kind: 'all' } }

type Handler = (method: Method, context: Context) => unknown

/** A memory whose every answer is what `handler` says, behind limits. */
function limited(limits: Limited, handler: Handler = () => ({}), countStock = noStock): Served {
  const inner: Served = {
    refusal: () => undefined,
    recognised: (_method, params) => params,
    call: async (method, _params, context) => (await handler(method, context)) as never,
    close: async () => {},
  }
  return withQuotas(inner, { limiter: limiterOf(limits), countStock })
}

const noStock: QuotaOptions['countStock'] = () => Promise.reject(new Error('not to be counted'))

interface Made {
  readonly caller?: Caller
  readonly cancellation?: Cancellation
  readonly standings?: LimitStanding[]
}

function contextOf({ caller = ALICE, cancellation, standings = [] }: Made = {}): Context {
  const limited = (standing: LimitStanding) => standings.push(standing)
  return { ...contextWithin(1000, cancellation), caller, limited }
}

function recall(memory: Served, made: Made = {}): Promise<unknown> {
  return memory.call('memory/recall', { query: 'x' }, contextOf(made))
}

type Entries = ParamsOf<'memory/remember'>['records']

function remember(memory: Served, records: Entries, made: Made = {}): Promise<unknown> {
  return memory.call('memory/remember', { records }, contextOf(made))
}

function entries(count: number, content = 'abc', owner?: string): Entries {
  return Array.from({ length: count }, () => ({ content, ...(owner && { owner }) }))
}

/** What became of each: `ok` or the error's code. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  const settled = await Promise.allSettled(calls)
  return settled.map((one) => (one.status === 'fulfilled' ? 'ok' : one.reason.code))
}

async function errorOf(call: Promise<unknown>): Promise<A2mError> {
  const thrown = await call.catch((reason: unknown) => reason)
  if (!(thrown instanceof A2mError)) throw new Error(`not refused: ${thrown}`)
  return thrown
}

function count(all: readonly unknown[], one: unknown): number {
  return all.filter((outcome) => outcome === one).length
}

const many = <T>(times: number, call: () => T): T[] => Array.from({ length: times }, call)

describe('calls', () => {
  test('of 1,000 at once against 100, exactly 100 pass', async () => {
    let reached = 0
    const memory = limited({ quotas: [{}] }, async () => {
      reached++
      await new Promise((resolve) => setImmediate(resolve))
      return {}
    })
    const all = await outcomes(many(1000, () => recall(memory)))
    expect([count(all, 'ok'), count(all, -32006), reached]).toEqual([100, 900, 100])
  })

  test(`one that is refused says of what, how much, and until when ${meets('7/quota')}`, async () => {
    const clock = new WallClock('2027-03-10T12:00:18Z')
    const memory = limited({ quotas: [{ name: 'calls-a-minute', limit: 1 }], clock })
    await recall(memory)
    const standings: LimitStanding[] = []
    const refused = await errorOf(recall(memory, { standings }))
    expect(refused).toMatchObject({
      code: -32006,
      message: expect.stringContaining('calls-a-minute'),
      data: {
        limit: 'calls-a-minute',
        of: 'calls',
        per: 'caller',
        max: 1,
        used: 1,
        asked: 1,
        window: 60,
        reset: 42,
        resets_at: '2027-03-10T12:01:00.000Z',
      },
    })
    expect(standings).toEqual([
      {
        name: 'calls-a-minute',
        limit: 1,
        remaining: 0,
        window: 60,
        reset: 42,
        warned: false,
        retryAfter: 42,
      },
    ])
  })

  test('begin anew with every window', async () => {
    const clock = new WallClock('2027-03-10T12:00:59.999Z')
    const memory = limited({ quotas: [{ limit: 2 }], clock })
    const calls = () => outcomes([recall(memory), recall(memory), recall(memory)])
    expect(await calls()).toEqual(['ok', 'ok', -32006])
    clock.pass(1)
    expect(await calls()).toEqual(['ok', 'ok', -32006])
  })

  test('a clock that goes back yields nothing again, and one that jumped ahead keeps the old count', async () => {
    const clock = new WallClock('2027-03-10T12:00:30Z')
    const memory = limited({ quotas: [{ limit: 1, window: 24 * 60 * MINUTE }], clock })
    const one = async () => (await outcomes([recall(memory)]))[0]
    expect(await one()).toBe('ok')
    clock.set('2027-03-11T00:00:10Z')
    expect(await one()).toBe('ok')
    clock.set('2027-03-10T23:59:59Z')
    expect(await one()).toBe(-32006)
    clock.set('2027-03-10T12:00:00Z')
    expect(await one()).toBe(-32006)
  })

  test.each([
    ['0 lets nothing through', 0, -32006],
    ['1 lets one through', 1, 'ok'],
  ])('a limit of %s', async (_, limit, outcome) => {
    const standings: LimitStanding[] = []
    const memory = limited({ quotas: [{ limit }] })
    expect(await outcomes([recall(memory, { standings })])).toEqual([outcome])
    expect(standings[0]?.retryAfter).toBeUndefined()
  })

  test('those of different callers are apart, those of one role together', async () => {
    const bob: Caller = { ...ALICE, name: 'bob' }
    const apart = limited({ quotas: [{ limit: 1 }] })
    const callers = [ALICE, bob, ALICE, bob]
    const all = (memory: Served) => outcomes(callers.map((caller) => recall(memory, { caller })))
    expect(await all(apart)).toEqual(['ok', 'ok', -32006, -32006])
    const together = limited({ quotas: [{ limit: 1, per: 'role' }] })
    expect(await all(together)).toEqual(['ok', -32006, -32006, -32006])
  })

  test('a caller of several roles counts for each, and one without any for none', async () => {
    const both: Caller = { ...ALICE, roles: ['agent', 'batch', 'agent'] }
    const memory = limited({ quotas: [{ limit: 1, per: 'role', roles: ['batch', 'other'] }] })
    expect(await outcomes([recall(memory, { caller: both })])).toEqual(['ok'])
    expect(await outcomes([recall(memory, { caller: both })])).toEqual([-32006])
    expect(await outcomes([recall(memory), recall(memory, { caller: ROOT })])).toEqual(['ok', 'ok'])
  })

  test.each([
    [{ callers: ['bob'] }, 'ok'],
    [{ callers: ['bob', 'alice'] }, -32006],
    [{ roles: ['batch'] }, 'ok'],
    [{ roles: ['agent'] }, -32006],
    [{ owners: ['bob'] }, 'ok'],
    [{ owners: ['alice'] }, -32006],
    [{ methods: ['memory/remember'] as const }, 'ok'],
    [{ methods: ['memory/recall'] as const }, -32006],
    [{ callers: ['alice'], roles: ['batch'] }, 'ok'],
  ])('a limit for %j alone', async (selected, outcome) => {
    const memory = limited({ quotas: [{ limit: 0, ...selected }] })
    expect(await outcomes([recall(memory)])).toEqual([outcome])
  })

  test('describe and subscriptions use nothing, unless a limit names them', async () => {
    const describing = (memory: Served) => memory.call('memory/describe', {}, contextOf())
    expect(await outcomes([describing(limited({ quotas: [{ limit: 0 }] }))])).toEqual(['ok'])
    const named = limited({ quotas: [{ limit: 0, methods: ['memory/describe'] }] })
    expect(await outcomes([describing(named)])).toEqual([-32006])
  })
})

describe('what was reserved is given back', () => {
  const failures: readonly [string, () => unknown][] = [
    ['an error of the caller’s own', () => new A2mError('INVALID_PARAMS', 'no')],
    ['an upstream that is down', () => new Fault('unreachable', 'down')],
    ['a crash', () => new TypeError('oops')],
  ]
  test.each(failures)('after %s', async (_, failure) => {
    const memory = limited(
      { quotas: [{ limit: 1 }, { name: 'r', of: 'records', limit: 5 }] },
      () => {
        throw failure()
      },
    )
    for (const _ of Array(3)) {
      const [code] = await outcomes([remember(memory, entries(5))])
      expect(['ok', -32006]).not.toContain(code)
    }
  })

  test('when the caller has left before anything was done', async () => {
    const cancellation = new Cancellation()
    cancellation.cancel()
    let reached = 0
    const memory = limited({ quotas: [{ limit: 1 }] }, () => reached++)
    expect(await outcomes([recall(memory, { cancellation })])).toEqual([undefined])
    expect(reached).toBe(0)
    expect(await outcomes([recall(memory)])).toEqual(['ok'])
  })

  test('but not after a write that may have been done all the same', async () => {
    const memory = limited({ quotas: [{ limit: 1 }] }, () => {
      throw new Fault('timeout', 'late')
    })
    expect(await outcomes([recall(memory)])).toEqual([undefined])
    expect(await outcomes([remember(memory, entries(1))])).toEqual([undefined])
    expect(await outcomes([recall(memory)])).toEqual([-32006])
  })

  test('and the standings say so', async () => {
    const standings: LimitStanding[] = []
    const memory = limited({ quotas: [{ limit: 10 }] }, () => {
      throw new A2mError('INVALID_PARAMS', 'no')
    })
    await recall(memory, { standings }).catch(() => {})
    expect(standings).toMatchObject([{ remaining: 10 }])
  })
})

describe('several limits', () => {
  test('all must pass, or nothing is taken', async () => {
    const memory = limited({
      quotas: [
        { name: 'calls', limit: 10 },
        { name: 'records', of: 'records', limit: 5 },
        { name: 'characters', of: 'characters', limit: 9 },
      ],
    })
    const standings: LimitStanding[] = []
    const too = () => remember(memory, entries(4, 'abc'))
    expect(await outcomes(many(3, too))).toEqual([-32006, -32006, -32006])
    await remember(memory, entries(3, 'äöü'), { standings })
    expect(standings.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['calls', 9],
      ['records', 2],
      ['characters', 0],
    ])
  })

  test('never yield more than any of them, whatever comes in which order', async () => {
    const batch = fc.record({
      size: fc.nat(4),
      fails: fc.boolean(),
      owner: fc.constantFrom('a', 'b'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { maxLength: 30 }), async (batches) => {
        const written = new Map<string, number>()
        const memory = limited(
          {
            quotas: [
              { of: 'records', per: 'owner', limit: 7 },
              { name: 'c', limit: 9 },
            ],
          },
          () => ({}),
        )
        const calls = batches.map(async ({ size, fails, owner }) => {
          const cancellation = new Cancellation()
          if (fails) cancellation.cancel()
          await remember(memory, entries(size, 'x', owner), { caller: ROOT, cancellation })
          written.set(owner, (written.get(owner) ?? 0) + size)
          return size
        })
        const all = await outcomes(calls)
        expect(count(all, 'ok')).toBeLessThanOrEqual(9)
        for (const records of written.values()) expect(records).toBeLessThanOrEqual(7)
      }),
    )
  })
})

describe('records', () => {
  test('a batch of more than the whole limit says to send less', async () => {
    const standings: LimitStanding[] = []
    const memory = limited({ quotas: [{ of: 'records', limit: 3 }] })
    const refused = await errorOf(remember(memory, entries(4), { standings }))
    expect(refused.message).toContain('send less at once')
    expect(refused.data).toMatchObject({ used: 0, asked: 4, max: 3 })
    expect(standings[0]?.retryAfter).toBeUndefined()
  })

  test('reading writes none, and is not told of a limit on them', async () => {
    const standings: LimitStanding[] = []
    await recall(limited({ quotas: [{ of: 'records', limit: 0 }] }), { standings })
    expect(standings).toEqual([])
  })

  test('of several owners in one batch count for each', async () => {
    const memory = limited({ quotas: [{ of: 'records', per: 'owner', limit: 3 }] })
    const mixed = [...entries(2, 'x', 'a'), ...entries(2, 'x', 'b')]
    const write = (records: Entries) => remember(memory, records, { caller: ROOT })
    expect(await outcomes([write(mixed)])).toEqual(['ok'])
    expect(await outcomes([write(mixed), write(entries(2, 'x', 'a'))])).toEqual([-32006, -32006])
    expect(await outcomes([write(entries(1, 'x', 'a')), write(entries(1, 'x', 'b'))])).toEqual([
      'ok',
      'ok',
    ])
  })

  test('are settled with what was really used', async () => {
    const memory = limited({ quotas: [{ of: 'records', limit: 5 }] }, (_, context) => {
      const none = { recordsOut: 0, charactersOut: 0, vectorsIn: 0, vectorsOut: 0, tiers: [] }
      context.used?.({ owner: 'alice', recordsIn: 1, charactersIn: 3, ...none })
      return {}
    })
    const all = await outcomes(many(3, () => remember(memory, entries(3))))
    expect(all).toEqual(['ok', -32006, -32006])
    expect(await outcomes([remember(memory, entries(3))])).toEqual(['ok'])
  })
})

/** Behind limits and measured, a memory whose answers are `answer`, of which entries at `places` are there already. */
function measured(limits: Limited, answer: () => unknown, places: readonly number[] = []): Served {
  const inner: Served = {
    refusal: () => undefined,
    recognised: (_method, params) => params,
    async call(_method, _params, context) {
      context.existed?.(places)
      return answer() as never
    },
    close: async () => {},
  }
  const metered = withMetering(inner, { tiers: () => [{ name: 'working' }] })
  return withQuotas(metered, { limiter: limiterOf(limits), countStock: async () => 0 })
}

const EACH = [
  { name: 'records', of: 'records', limit: 3 },
  { name: 'characters', of: 'characters', limit: 9 },
  { name: 'stock', of: 'stock', per: 'owner', window: undefined, limit: 3 },
] as const

/** What is left of each limit after a call, by its name. */
async function leftAfter(call: (made: Made) => Promise<unknown>): Promise<object> {
  const standings: LimitStanding[] = []
  await call({ standings })
  return Object.fromEntries(standings.map(({ name, remaining }) => [name, remaining]))
}

describe('entries that are there already', () => {
  const retried = (owner?: string): Entries =>
    entries(3, 'abc', owner).map((entry, index) => ({ ...entry, id: `${index}` }))

  test.each([
    ['some', [0, 2], { records: 2, characters: 6, stock: 2 }],
    ['all', [0, 1, 2], { records: 3, characters: 9, stock: 3 }],
  ])('take nothing: %s', async (_, places, left) => {
    const memory = measured({ quotas: EACH }, () => ({ ids: [] }), places)
    expect(await leftAfter((made) => remember(memory, retried(), made))).toEqual(left)
  })

  test('take nothing of their owner where the batch is of several', async () => {
    const limit = { of: 'records', per: 'owner', limit: 3 } as const
    const memory = measured({ quotas: [limit] }, () => ({ ids: [] }), [0, 1])
    const mixed = [...retried('a'), ...retried('b')]
    await remember(memory, mixed, { caller: ROOT })
    const again = (count: number, owner: string) =>
      remember(memory, entries(count, 'x', owner), { caller: ROOT })
    expect(await outcomes([again(3, 'a'), again(2, 'a'), again(1, 'b')])).toEqual([
      -32006,
      'ok',
      -32006,
    ])
  })
})

describe('a summary', () => {
  const summarize = (memory: Served, made: Made = {}) =>
    memory.call('memory/summarize', { into: 'working' }, contextOf(made))
  const summary = { id: '1', content: 'abcde', created_at: '2027-03-10T12:00:00.000Z' }
  const made = () => ({ records: [summary], read: 2, written: 1 })

  test('is one record of so many characters', async () => {
    const memory = measured({ quotas: EACH }, made)
    expect(await leftAfter((how) => summarize(memory, how))).toEqual({
      records: 2,
      characters: 4,
      stock: 2,
    })
  })

  test('that was not written takes nothing', async () => {
    const memory = measured({ quotas: EACH }, () => ({ records: [], read: 0, written: 0 }))
    expect(await leftAfter((how) => summarize(memory, how))).toEqual({
      records: 3,
      characters: 9,
      stock: 3,
    })
  })

  test.each(EACH)('is refused where no $of are left', async (limit) => {
    let reached = 0
    const memory = measured({ quotas: [{ ...limit, limit: 0 }] }, () => {
      reached++
      return made()
    })
    expect(await outcomes([summarize(memory)])).toEqual([-32006])
    expect(reached).toBe(0)
  })

  test('of anyone’s records is held to no one’s stock before it is known whose it is', async () => {
    const [, , stock] = EACH
    const memory = measured({ quotas: [{ ...stock, limit: 0 }] }, made)
    expect(await outcomes([summarize(memory, { caller: ROOT })])).toEqual(['ok'])
  })
})

describe('a soft limit', () => {
  test('is told in the standing from then on, and to whom it concerns once a window', async () => {
    const clock = new WallClock('2027-03-10T12:00:00Z')
    const log = new QuotaLog()
    const memory = limited({ quotas: [{ limit: 5, soft: 0.8 }], clock, log })
    const standings: LimitStanding[] = []
    const five = async () => {
      for (const _ of Array(5)) await recall(memory, { standings })
    }
    await five()
    expect(standings.map(({ warned }) => warned)).toEqual([false, false, false, true, true])
    expect(log.of('warned')).toEqual(['warned q alice 4'])
    clock.pass(MINUTE)
    await five()
    expect(log.of('warned')).toEqual(['warned q alice 4', 'warned q alice 4'])
  })
})

describe('a shadow limit', () => {
  test('counts and tells, refuses nobody, and is in no header', async () => {
    const log = new QuotaLog()
    const memory = limited({ quotas: [{ limit: 2, mode: 'shadow' }], log })
    const standings: LimitStanding[] = []
    expect(await outcomes(many(3, () => recall(memory, { standings })))).toEqual(['ok', 'ok', 'ok'])
    expect(log.lines).toEqual(['shadowed q alice 3'])
    expect(standings).toEqual([])
  })
})

describe('a stock', () => {
  const stock = { of: 'stock', per: 'owner', window: undefined, limit: 10 } as const

  test('of 1,000 records at once, as many are written as there is room for', async () => {
    let stored = 4
    let counted = 0
    const memory = limited(
      { quotas: [stock] },
      () => stored++,
      async () => {
        counted++
        return stored
      },
    )
    const all = await outcomes(many(1000, () => remember(memory, entries(1))))
    expect([count(all, 'ok'), stored, counted]).toEqual([6, 10, 1])
    const [refused] = await Promise.allSettled([remember(memory, entries(1))])
    expect(refused).toMatchObject({
      reason: { data: { of: 'stock', max: 10, used: 10 }, message: /forget some records/ },
    })
  })

  test('room that was made is seen within a second', async () => {
    const clock = new WallClock('2027-03-10T12:00:00Z')
    let stored = 10
    const memory = limited(
      { quotas: [stock], clock },
      () => stored++,
      async () => stored,
    )
    expect(await outcomes([remember(memory, entries(1))])).toEqual([-32006])
    stored = 3
    clock.pass(1000)
    expect(await outcomes([remember(memory, entries(7))])).toEqual(['ok'])
    expect(await outcomes([remember(memory, entries(7))])).toEqual([-32006])
  })

  test.each([
    ['memory/forget', { ids: ['1'] }, ALICE],
    ['memory/forget', { ids: ['1'] }, ROOT],
    ['memory/consolidate', { owner: 'alice' }, ROOT],
    ['memory/session/close', { session_id: 's' }, ALICE],
  ] as const)('room that %s made with %j is seen at once', async (method, params, caller) => {
    let stored = 10
    let fails = true
    const memory = limited(
      { quotas: [stock], clock: new WallClock('2027-03-10T12:00:00Z') },
      (called) => {
        if (called === 'memory/remember') return stored++
        if (fails) throw new A2mError('INVALID_PARAMS', 'no')
        return stored--
      },
      async () => stored,
    )
    const takeAway = () => memory.call(method, params as never, contextOf({ caller }))
    const write = () => outcomes([remember(memory, entries(1))])
    expect(await write()).toEqual([-32006])
    await expect(takeAway()).rejects.toThrow('no')
    stored--
    expect(await write()).toEqual([-32006])
    stored++
    fails = false
    await takeAway()
    expect([await write(), await write()]).toEqual([['ok'], [-32006]])
  })

  test('a count that began before room was made is not believed after', async () => {
    let stored = 10
    const counts: (() => void)[] = []
    const memory = limited(
      { quotas: [stock], clock: new WallClock('2027-03-10T12:00:00Z') },
      (method) => (method === 'memory/remember' ? stored++ : stored--),
      () => {
        const found = stored
        return new Promise((resolve) => counts.push(() => resolve(found)))
      },
    )
    const early = outcomes([remember(memory, entries(1))])
    await memory.call('memory/forget', { ids: ['1'] }, contextOf())
    const late = outcomes([remember(memory, entries(1))])
    counts[0]?.()
    await expect.poll(() => counts.length).toBe(2)
    counts[1]?.()
    const all = [...(await early), ...(await late)]
    expect([count(all, 'ok'), stored]).toEqual([1, 10])
  })

  test('what failed takes no room, and nothing is taken of other limits where there is none', async () => {
    let fails = true
    const memory = limited(
      { quotas: [stock, { name: 'calls', limit: 2 }] },
      () => {
        if (fails) throw new A2mError('INVALID_PARAMS', 'no')
      },
      async () => 0,
    )
    expect(await outcomes(many(5, () => remember(memory, entries(10))))).not.toContain('ok')
    fails = false
    expect(await outcomes([remember(memory, entries(11))])).toEqual([-32006])
    expect(await outcomes([remember(memory, entries(10))])).toEqual(['ok'])
    expect(await errorOf(remember(memory, entries(1)))).toMatchObject({ data: { of: 'stock' } })
    expect(await outcomes([recall(memory), recall(memory)])).toEqual(['ok', -32006])
  })

  test('one that cannot be counted fails the write, and takes nothing', async () => {
    const memory = limited({ quotas: [stock] }, undefined, () =>
      Promise.reject(new Fault('unreachable', 'down')),
    )
    await expect(remember(memory, entries(1))).rejects.toThrow('down')
  })
})
