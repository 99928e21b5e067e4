import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { Cancellation } from '../../src/protocol/cancellation.js'
import { Fault } from '../../src/protocol/errors.js'
import type { Memory } from '../../src/protocol/memory.js'
import { systemClock } from '../../src/protocol/time.js'
import { createClient } from '../../src/transport/client.js'
import type { NoiseReason, Restart } from '../../src/transport/events.js'
import { createStdioWire, type StdioOptions } from '../../src/transport/stdio.js'
import { badChild } from '../support/bad-child.js'
import { contextWithin } from '../support/contexts.js'
import { Log } from '../support/log.js'
import { meets } from '../support/meets.js'

const opened: Memory[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

function setUp(command: StdioOptions['command'], options: Partial<StdioOptions> = {}) {
  const noise = new Log<NoiseReason>()
  const stderr = new Log<string>()
  const restarts = new Log<Restart>()
  const notifications = new Log<string>()
  const memory = createClient(
    createStdioWire({
      command,
      baseEnv: {},
      clock: systemClock,
      random: () => 1,
      grace: 200,
      events: {
        onNoise: (reason) => noise.add(reason),
        onStderr: (line) => stderr.add(line),
        onRestart: (restart) => restarts.add(restart),
        onNotification: (method) => notifications.add(method),
      },
      ...options,
    }),
  )
  opened.push(memory)
  return { memory, noise, stderr, restarts, notifications }
}

async function recall(memory: Memory, query = 'q', limit = 10_000): Promise<string | undefined> {
  const { records } = await memory.call('memory/recall', { query }, contextWithin(limit))
  return records[0]?.content
}

async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof Fault)) throw new Error(`no fault but ${String(thrown)}`)
  return thrown
}

/** A process that has ended and that nobody has asked after yet does not run. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z'
  } catch {
    return false
  }
}

test('200 calls at once each get their own answer', async () => {
  const { memory, noise } = setUp(badChild('healthy'))
  const queries = Array.from({ length: 200 }, (_, index) => `query ${index} grüße 東京`)
  const answers = await Promise.all(queries.map((query) => recall(memory, query)))
  expect(answers).toEqual(queries)
  expect(noise.all).toEqual([])
})

test(`answers are matched by id, in whatever order they come ${meets('8.2/interleaved')}`, async () => {
  const { memory } = setUp(badChild('out_of_order'))
  const answers = await Promise.all([recall(memory, 'one'), recall(memory, 'two')])
  expect(answers).toEqual(['one', 'two'])
})

const NOISY: readonly (readonly [
  'banner' | 'crlf' | 'half_lines' | 'huge_line' | 'not_utf8',
  readonly NoiseReason[],
])[] = [
  ['banner', ['not_a_message', 'not_a_message']],
  ['crlf', []],
  ['half_lines', ['not_a_message']],
  ['huge_line', ['overlong']],
  ['not_utf8', ['not_utf8']],
]
test.each(NOISY)('%s on stdout is counted and survived', async (kind, expected) => {
  const { memory, noise } = setUp(badChild(kind))
  expect(await recall(memory, 'still there')).toBe('still there')
  expect(noise.all).toEqual(expected)
})

test(`notifications are handed on and answers still found ${meets('8.2/interleaved')}`, async () => {
  const { memory, notifications, noise } = setUp(badChild('notifying'))
  expect(await recall(memory, 'q')).toBe('q')
  expect(notifications.all).toEqual(['memory/event'])
  expect(noise.all).toEqual([])
})

test('stderr comes line by line, long lines cut short', async () => {
  const { stderr } = setUp(badChild('chatty_stderr'))
  await stderr.until(3)
  expect([...stderr.all].sort()).toEqual([
    '[a line over 8192 bytes was left out]',
    ...['one', 'two'],
  ])
})

test('a call to a silent child ends at its limit, a late answer is noise', async () => {
  const { memory } = setUp(badChild('silent'))
  const thrown = await faultOf(recall(memory, 'q', 150))
  expect(thrown).toMatchObject({ kind: 'timeout', outcome: 'unknown' })
  const late = setUp(badChild('out_of_order'))
  await faultOf(recall(late.memory, 'given up', 100))
  expect(await recall(late.memory, 'wanted')).toBe('wanted')
  await late.noise.until(1)
  expect(late.noise.all).toEqual(['unmatched'])
})

test('cancelling ends a call at once', async () => {
  const { memory } = setUp(badChild('silent'))
  const cancellation = new Cancellation()
  const call = faultOf(memory.call('memory/recall', {}, contextWithin(10_000, cancellation)))
  cancellation.cancel()
  expect(await call).toMatchObject({ kind: 'cancelled' })
})

test('what was under way at a crash is cut, then the child is back', async () => {
  const { memory, restarts } = setUp(badChild('crash_on_call'))
  expect(await recall(memory, 'before')).toBe('before')
  const cut = await faultOf(recall(memory, 'crash'))
  expect(cut).toMatchObject({ kind: 'cut', outcome: 'unknown' })
  expect(cut.message).toMatch(/ended with 4/)
  const down = await faultOf(recall(memory, 'while down'))
  expect(down).toMatchObject({ kind: 'unreachable', outcome: 'not_sent' })
  expect(restarts.all).toMatchObject([{ attempt: 1, delay: 100 }])
  await vi.waitFor(async () => expect(await recall(memory, 'after')).toBe('after'), 5000)
})

const QUICK = { first: 10, longest: 40, stable: 10_000 }

test('a command that does not exist: calls fail at once, starts come later and later', async () => {
  const { memory, restarts } = setUp(['no-such-program-anywhere'], { backoff: QUICK })
  await restarts.until(1)
  const down = await faultOf(recall(memory))
  expect(down).toMatchObject({ kind: 'unreachable', outcome: 'not_sent' })
  expect(down.message).toMatch(/could not be started \(ENOENT\)/)
  await restarts.until(4)
  expect(restarts.all.slice(0, 4).map(({ delay }) => delay)).toEqual([10, 20, 40, 40])
})

test('a call made before a failed start is known is told that it was not sent', async () => {
  const { memory } = setUp(['no-such-program-anywhere'])
  expect(await faultOf(recall(memory))).toMatchObject({ kind: 'unreachable', outcome: 'not_sent' })
})

test('in a crash loop there is at most one process', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'crash-'))
  const file = join(directory, 'pids')
  const { restarts } = setUp(badChild('crash_at_once', file), { backoff: QUICK })
  await restarts.until(5)
  const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number)
  rmSync(directory, { recursive: true })
  expect(new Set(pids).size).toBe(5)
  expect(pids.filter(isRunning)).toEqual([])
  expect(restarts.all[4]?.reason).toMatch(/ended with 3/)
})

test.each(['closes_stdin', 'closes_stdout'] as const)(
  '%s: a child that cannot be talked to is ended and started again',
  async (kind) => {
    const { memory, restarts, stderr } = setUp(badChild(kind), { backoff: QUICK })
    if (kind === 'closes_stdin') await stderr.until(1)
    await faultOf(recall(memory))
    await restarts.until(1)
    expect(restarts.all[0]?.reason).toMatch(/SIGTERM/)
  },
)

test('what waits for room in the pipe is not sent, and not sent later when given up', async () => {
  const { memory, noise } = setUp(badChild('slow_reader'))
  const big = 'x'.repeat(1_000_000)
  const calls = Array.from({ length: 5 }, (_, index) => recall(memory, `${index}${big}`))
  const given = await faultOf(recall(memory, 'given up', 100))
  expect(given).toMatchObject({ kind: 'timeout', outcome: 'not_sent' })
  const answers = await Promise.all(calls)
  expect(answers.map((answer) => answer?.[0])).toEqual(['0', '1', '2', '3', '4'])
  expect(await recall(memory, 'next')).toBe('next')
  expect(noise.all).toEqual([])
})

test('last words without a line break count', async () => {
  const { memory } = setUp(badChild('last_words'))
  expect(await recall(memory, 'farewell')).toBe('farewell')
})

test('a child gets the basics and what it is given by name, and nothing else', async () => {
  vi.stubEnv('CANARY_OF_THE_PROCESS', 'canary')
  const baseEnv = { PATH: '/usr/bin:/bin', HOME: '/home/x', TZ: 'UTC', FACTS_TOKEN: 'canary' }
  const { memory } = setUp(badChild('environment'), { baseEnv, env: { GIVEN: 'by name' } })
  const seen = JSON.parse((await recall(memory)) ?? '')
  vi.unstubAllEnvs()
  expect(seen).toEqual({ PATH: '/usr/bin:/bin', HOME: '/home/x', TZ: 'UTC', GIVEN: 'by name' })
})

test.each(['stubborn', 'wrapper'] as const)(
  '%s: closing leaves no process behind',
  async (kind) => {
    const { memory } = setUp(badChild(kind))
    const pid = Number(await recall(memory))
    expect(isRunning(pid)).toBe(true)
    await memory.close()
    expect(isRunning(pid)).toBe(false)
    expect(await faultOf(recall(memory))).toMatchObject({ kind: 'unavailable' })
  },
)

test('what a dead wrapper had started goes with it before the next start', async () => {
  const { memory, restarts } = setUp(badChild('wrapper_that_dies'), { backoff: QUICK })
  const call = recall(memory).then(Number, () => undefined)
  await restarts.until(1)
  expect(restarts.all[0]?.reason).toMatch(/ended with 5/)
  const pid = await call
  expect(pid === undefined ? false : isRunning(pid)).toBe(false)
})

test('children end with the process that started them', () => {
  const program = fileURLToPath(new URL('../support/exiting-parent.ts', import.meta.url))
  const printed = execFileSync(process.execPath, ['--import', 'tsx', program], { timeout: 15_000 })
  const pid = Number(printed.toString())
  expect(pid).toBeGreaterThan(0)
  expect(isRunning(pid)).toBe(false)
})

test('closing waits for what is under way', async () => {
  const { memory } = setUp(badChild('slow_reader'))
  const call = recall(memory, 'under way')
  await memory.close()
  expect(await call).toBe('under way')
})
