import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { AccountingThread } from '../../../src/metering/accounting-thread.js'
import { printEvent } from '../../../src/metering/event.js'
import { segmentPath } from '../../../src/metering/lane.js'
import type { SinkNews } from '../../../src/metering/sink.js'
import { usageEvent } from '../../support/usage-events.js'
import { until } from '../../support/waiting.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'a2m-accounting-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

const QUERY = { by: ['caller'], from: 0, to: 1e6, where: {}, limit: 10 } as const

function open(path = join(folder, 'usage.db')) {
  const news: SinkNews[] = []
  const file = { kind: 'json-lines', name: 'file', path: join(folder, 'out.jsonl') } as const
  const accounting = new AccountingThread(
    {
      ledger: { kind: 'sqlite', path, durability: 'normal' },
      sinks: [{ ...file, maxBytes: 1e6, keep: 1 }],
      keep: 1e15,
    },
    (one) => news.push(one),
  )
  onTestFinished(() => accounting.close())
  return { accounting, news }
}

function segmentOf(count: number) {
  const path = segmentPath(folder, 1)
  const lines = Array.from({ length: count }, () => `${printEvent(usageEvent())}\n`)
  writeFileSync(path, lines.join(''))
  return { number: 1, path }
}

/** How nice each thread of this process is, as proc_pid_stat(5) tells it. */
function niceness(): number[] {
  return readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}

test.runIf(process.platform === 'linux')('the thread, and no other, gives way', async () => {
  const before = niceness()
  expect(before).not.toContain(10)
  const { accounting } = open()
  await accounting.usage(QUERY)
  expect(niceness().filter((nice) => nice === 10)).toHaveLength(1)
})

test('a thread takes segments, answers questions, and tells how sinks do', {
  timeout: 30_000,
}, async () => {
  const { accounting, news } = open()
  expect(await accounting.take('lane', segmentOf(3))).toMatchObject({ added: 3, torn: 0 })
  expect((await accounting.usage(QUERY)).totals['calls']).toBe(3)
  await until(() => news.length > 0)
  expect(news).toEqual([{ sink: 'file', delivered: 3, refused: 0, lagMs: 0, failure: undefined }])
  await accounting.close()
  expect(await open().accounting.usage(QUERY)).toMatchObject({ totals: { calls: 3 } })
})

test('a ledger that cannot be opened is an error with its reason, until it can', {
  timeout: 30_000,
}, async () => {
  const path = join(folder, 'bad.db')
  writeFileSync(path, 'no database, but as long as the header of one might be, and more')
  const { accounting } = open(path)
  await expect(accounting.usage(QUERY)).rejects.toThrow(`cannot use ${path} as a ledger`)
  rmSync(path)
  expect(await accounting.usage(QUERY)).toMatchObject({ totals: { calls: 0 } })
})
