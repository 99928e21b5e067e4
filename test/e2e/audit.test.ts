import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder } from '../support/gateway-process.js'
import { type ConfigFile, keyEntry, keyOf, startGateway } from '../support/gateway-under-test.js'
import { until } from '../support/waiting.js'

/** Stands in contents, metadata, queries and tokens. */
const CANARY = 'canary-71c2'
const KEYS = [keyEntry('ann', 'ann', ['agent']), keyEntry('ops', '*')]

interface Line {
  readonly at: string
  readonly method?: string
  readonly outcome: string
  readonly written?: readonly string[]
  readonly [field: string]: unknown
}

function gatewayIn(cwd: string, audit: object, config: ConfigFile = {}) {
  return startGateway({ auth: { keys: KEYS }, audit, ...config }, { cwd })
}

/** The text of every file of the log, the oldest first. */
function textOf(cwd: string, folder = 'data'): string {
  const names = readdirSync(join(cwd, folder)).filter((name) => /^audit.*\.jsonl$/.test(name))
  const order = names.sort((a, b) => a.length - b.length || a.localeCompare(b))
  const full = order.filter((name) => name !== 'audit.jsonl')
  return [...full, ...order.filter((name) => name === 'audit.jsonl')]
    .map((name) => readFileSync(join(cwd, folder, name), 'utf8'))
    .join('')
}

function linesOf(cwd: string, folder?: string): Line[] {
  const lines = textOf(cwd, folder).split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => JSON.parse(line) as Line)
}

test('who changed what is there after a quiet end, and nothing of what was said', async () => {
  const cwd = emptyFolder()
  const gateway = await gatewayIn(cwd, {})
  const ann = { key: keyOf('ann') }
  const id = await gateway.remember(
    { content: CANARY, metadata: { [CANARY]: CANARY }, key: 'wf/1', session: 's1', role: CANARY },
    ann,
  )
  await gateway.call('memory/recall', { query: CANARY, where: { [CANARY]: CANARY } }, ann)
  await gateway.call('memory/forget', { query: CANARY, where: { [CANARY]: CANARY } }, ann)
  await expect(gateway.call('memory/fetch', { key: 'k', owner: 'bob' }, ann)).rejects.toThrow()
  const strangers = [{ key: CANARY }, {}, { key: keyOf('ann').slice(1) }]
  for (const one of strangers) expect((await gateway.post(CANARY, one)).status).toBe(401)
  const evil = await gateway.post(CANARY, {
    ...ann,
    headers: { origin: `https://${CANARY}.example` },
  })
  expect(evil.status).toBe(403)
  expect(await gateway.stop()).toBe(0)

  const text = textOf(cwd)
  expect(text).not.toContain(CANARY)
  expect(text).not.toContain(keyOf('ann'))
  const who = {
    caller: 'ann',
    roles: ['agent'],
    owner: 'ann',
    trace: expect.stringMatching(/^[\da-f]{32}$/),
  }
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(linesOf(cwd)).toEqual([
    {
      at,
      ...who,
      method: 'memory/remember',
      keys: ['wf/1'],
      sessions: ['s1'],
      outcome: 'ok',
      written: [id],
    },
    {
      at,
      ...who,
      method: 'memory/forget',
      by: ['query', 'where'],
      outcome: 'ok',
      count: 1,
      forgotten: [id],
    },
    {
      at,
      ...who,
      owner: 'bob',
      method: 'memory/fetch',
      keys: ['k'],
      outcome: 'refused',
      code: -32005,
    },
    { at, status: 401, remote: '127.0.0.1', outcome: 'refused' },
    { at, status: 403, remote: '127.0.0.1', outcome: 'refused' },
    { at, status: 401, remote: '127.0.0.1', outcome: 'refused', times: 2, since: at },
  ])
  expect(statSync(join(cwd, 'data/audit.jsonl')).mode & 0o777).toBe(0o600)
})

test('without an audit section there is no log', async () => {
  const cwd = emptyFolder()
  const gateway = await startGateway({}, { cwd })
  await gateway.remember({ content: 'a' })
  expect(await gateway.metrics()).not.toContain('a2m_audit')
  expect(await gateway.stop()).toBe(0)
  expect(readdirSync(join(cwd, 'data')).filter((name) => name.includes('audit'))).toEqual([])
})

test('under load nothing is missing, in the order of time, over files that are kept by number', async () => {
  const cwd = emptyFolder()
  const gateway = await gatewayIn(cwd, { path: '../log/audit.jsonl', max_size: '8KiB', keep: 100 })
  const key = keyOf('ops')
  const writers = Array.from({ length: 16 }, async (_, writer) => {
    const ids: string[] = []
    for (let n = 0; n < 15; n++)
      ids.push(await gateway.remember({ content: `${writer} ${n}` }, { key }))
    return ids
  })
  const ids = (await Promise.all(writers)).flat()
  expect(await gateway.stop()).toBe(0)
  const lines = linesOf(cwd, 'log')
  expect(lines.flatMap(({ written = [] }) => written).sort()).toEqual(ids.sort())
  const instants = lines.map(({ at }) => at)
  expect(instants).toEqual(instants.toSorted())
  const names = readdirSync(join(cwd, 'log'))
  expect(names.length).toBeGreaterThan(3)
  for (const name of names) expect(statSync(join(cwd, 'log', name)).size).toBeLessThanOrEqual(8192)
})

test('only so many full files are kept', async () => {
  const cwd = emptyFolder()
  const gateway = await gatewayIn(cwd, { max_size: '1KiB', keep: 2 })
  for (let n = 0; n < 40; n++) await gateway.remember({ content: 'x' }, { key: keyOf('ann') })
  expect(await gateway.stop()).toBe(0)
  const files = readdirSync(join(cwd, 'data')).filter((name) => name.startsWith('audit'))
  expect(files).toHaveLength(3)
})

test('after kill -9 every line is whole but for the last, and the next run goes on behind it', async () => {
  const cwd = emptyFolder()
  const before = await gatewayIn(cwd, {})
  const key = keyOf('ann')
  const first = await before.remember({ content: 'one' }, { key })
  await until(() => textOf(cwd).includes(first))
  const writing = Promise.allSettled(
    Array.from({ length: 50 }, () => before.remember({ content: 'more' }, { key })),
  )
  await before.kill()
  await writing
  const after = await gatewayIn(cwd, {})
  const last = await after.remember({ content: 'two' }, { key })
  expect(await after.stop()).toBe(0)
  const whole = textOf(cwd)
    .split('\n')
    .filter((line) => line.endsWith('}'))
  const lines = whole.map((line) => JSON.parse(line) as Line)
  expect(lines[0]?.written).toEqual([first])
  expect(lines.at(-1)?.written).toEqual([last])
})

test.each([
  ['continue', 'calls go on, and what waited is written later'],
  ['refuse', 'writes are refused until it can be written again, and reading goes on'],
])('a log that cannot be written, with on_failure: %s: %s', async (onFailure) => {
  const cwd = emptyFolder()
  const audit = { path: 'log/audit.jsonl', on_failure: onFailure }
  const gateway = await gatewayIn(cwd, audit, { log: { level: 'error' } })
  const key = keyOf('ann')
  const folder = join(cwd, 'data/log')
  await gateway.remember({ content: 'one' }, { key })
  await until(async () => (await gateway.metric('a2m_audit_lines_total')) === 1)
  rmSync(folder, { recursive: true })
  const lost = await gateway.remember({ content: 'two' }, { key })
  await until(async () => (await gateway.metric('a2m_audit_failing')) === 1)
  expect(gateway.program.stderr).toContain('the audit log cannot be written')
  const further = gateway.remember({ content: 'three' }, { key })
  if (onFailure === 'continue') await further
  else await expect(further).rejects.toMatchObject({ code: -32603, data: { outcome: 'not_sent' } })
  expect(await gateway.contentsOf({}, { key })).toHaveLength(onFailure === 'continue' ? 3 : 2)
  mkdirSync(folder)
  await until(async () => (await gateway.metric('a2m_audit_failing')) === 0)
  await gateway.remember({ content: 'four' }, { key })
  expect(await gateway.stop()).toBe(0)
  const lines = linesOf(cwd, 'data/log')
  expect(lines).toHaveLength(onFailure === 'continue' ? 3 : 2)
  expect(lines[0]?.written).toEqual([lost])
})

test('a log that cannot be opened keeps the gateway from starting, and is named', async () => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'data/audit.jsonl'), { recursive: true })
  await expect(gatewayIn(cwd, {})).rejects.toThrow(/audit\.path: .*data\/audit\.jsonl/)
})
