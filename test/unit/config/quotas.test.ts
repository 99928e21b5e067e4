import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../../src/config/errors.js'
import { loadConfig } from '../../../src/config/load.js'
import { secretsOfQuotas } from '../../../src/config/secrets.js'

function load(quotas: object, env: Record<string, string> = {}) {
  const text = JSON.stringify({ quotas })
  return loadConfig({ text, file: 'a.yaml', env, cwd: '/srv' }).quotas
}

function problem(quotas: object): string {
  try {
    load(quotas)
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.message
    throw thrown
  }
  return 'none'
}

const calls = { of: 'calls', per: 'caller', window: 'minute', limit: 100 }
const limits = { calls }
const redis = { limits, redis: 'redis://127.0.0.1/0' }

test('nothing is limited unless the file says so', () => {
  expect(loadConfig({ text: '', file: 'a.yaml', env: {}, cwd: '/srv' }).quotas).toBeUndefined()
})

test('a limit with what it says, and the rest left open', () => {
  const whole = {
    of: 'records',
    per: 'role',
    window: 'month',
    limit: 0,
    soft: 0.8,
    shadow: true,
    callers: ['a'],
    roles: ['agent'],
    owners: ['o'],
    methods: ['memory/remember'],
  }
  const { shadow: _, ...rest } = whole
  expect(load({ limits: { calls, whole } })?.limits).toEqual([
    { name: 'calls', ...calls, window: 60_000, mode: 'enforce' },
    { name: 'whole', ...rest, mode: 'shadow' },
  ])
})

test('methods with and without what all their names begin with', () => {
  const some = { ...calls, methods: ['recall', 'memory/remember', 'session/list'] }
  expect(load({ limits: { some } })?.limits[0]?.methods).toEqual([
    'memory/recall',
    'memory/remember',
    'memory/session/list',
  ])
})

test.each([
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['month', 'month'],
  ['10s', 10_000],
  ['7d', 604_800_000],
])('a window of %s', (window, expected) => {
  expect(load({ limits: { a: { ...calls, window } } })?.limits[0]?.window).toBe(expected)
})

describe('what is refused, with its path', () => {
  const whole = 'must be a whole number from 0 to 999999999999999'
  const window = 'must be minute, hour, day, month, or a time such as 10s, 12h or 7d'
  test.each<readonly [string, object, string]>([
    ['a negative limit', { limit: -1 }, `limit: ${whole}`],
    ['a fractional limit', { limit: 1.5 }, `limit: ${whole}`],
    ['a limit in words', { limit: 'many' }, `limit: ${whole}`],
    ['no limit', { limit: undefined }, `limit: ${whole}`],
    ['another kind', { of: 'bytes' }, 'of: must be calls or records or characters or stock'],
    ['another subject', { per: 'team' }, 'per: must be caller or owner or role'],
    ['no window', { window: undefined }, `window: is missing. It ${window}`],
    ['another window', { window: 'year' }, `window: ${window}`],
    ['a window of a part of a second', { window: '500ms' }, `window: ${window}`],
    ['a soft limit of nothing', { soft: 0 }, 'soft: must be more than 0'],
    ['a soft limit over it', { soft: 1.2 }, 'soft: must be at most 1, which is the limit itself'],
    ['a key that nobody knows', { windw: 'day' }, 'windw: unknown key; did you mean window?'],
    ['no callers at all', { callers: [] }, 'callers: must not be empty; leave it out for all'],
    [
      'a method that is none',
      { methods: ['recall', 'memory/remembr'] },
      'methods[1]: there is no method memory/remembr; did you mean remember?',
    ],
    [
      'a stock of a caller',
      { of: 'stock', window: undefined },
      'per: a stock is an owner’s; write owner',
    ],
    [
      'a stock with a window',
      { of: 'stock', per: 'owner' },
      'window: a stock is what is there now, and has no window',
    ],
    [
      'a stock of a method',
      { of: 'stock', per: 'owner', window: undefined, methods: ['memory/remember'] },
      'methods: a stock is for all that adds to it, memory/remember and memory/summarize; leave it out',
    ],
  ])('%s', (_, fields, expected) => {
    expect(problem({ limits: { a: { ...calls, ...fields } } })).toBe(
      `a.yaml: quotas.limits.a.${expected}`,
    )
  })

  test.each<readonly [string, object, string]>([
    [
      'a name that no header can carry',
      { limits: { 'a"b': calls } },
      'limits."a\\"b": a name is made of letters, digits, - and _, 64 at most',
    ],
    ['no limits', {}, 'limits: must be a mapping of names to settings'],
    [
      'limits of nothing',
      { limits: {} },
      'limits: limits nothing; write one, as { calls: { of: calls, per: caller, window: minute, limit: 600 } }, or leave quotas out',
    ],
    [
      'another database',
      { ...redis, redis: 'http://x/' },
      'redis: must be a redis:// or rediss:// URL',
    ],
    [
      'a password that cannot be read',
      { ...redis, redis: 'redis://:%zz@x/' },
      'redis: has a % that begins no escape; write %25 for it',
    ],
    [
      'Redis without a choice',
      redis,
      'on_failure: is missing: what happens to calls while Redis is away, open, closed or local?',
    ],
    [
      'local parts of nobody knows how many',
      { ...redis, on_failure: 'local' },
      'gateways: is missing: among how many do limits divide?',
    ],
    [
      'a choice without Redis',
      { limits, on_failure: 'open' },
      'on_failure: needs redis; without it a gateway counts by itself',
    ],
    [
      'gateways without Redis',
      { limits, gateways: 2 },
      'gateways: needs redis; without it a gateway counts by itself',
    ],
    [
      'a webhook that has nothing to tell',
      { limits, webhook: { url: 'http://127.0.0.1/' } },
      'webhook: has nothing to tell: no limit has a soft',
    ],
    [
      'a webhook with a user',
      { limits, webhook: { url: 'http://u:p@x/' } },
      'webhook.url: must not carry a user or password; put a token into auth.bearer',
    ],
  ])('%s', (_, quotas, expected) => {
    expect(problem(quotas)).toBe(`a.yaml: quotas.${expected}`)
  })
})

test('Redis and a webhook with their defaults', () => {
  const quotas = {
    ...redis,
    on_failure: 'closed',
    limits: { calls: { ...calls, soft: 0.5 } },
    webhook: { url: 'http://127.0.0.1/hook' },
  }
  expect(load(quotas)).toMatchObject({
    redis: {
      url: 'redis://127.0.0.1/0',
      prefix: 'a2m',
      timeout: 50,
      onFailure: 'closed',
      gateways: 1,
    },
    webhook: { url: 'http://127.0.0.1/hook', timeout: 5000, retries: 3 },
  })
})

test('the password of Redis and the token of the webhook are secrets', () => {
  const quotas = load(
    {
      redis: '${REDIS}',
      on_failure: 'open',
      limits: { calls: { ...calls, soft: 0.5 } },
      webhook: { url: 'http://127.0.0.1/', auth: { bearer: 'token-of-hook' } },
    },
    { REDIS: 'redis://user:pass%2Fword@127.0.0.1:6379/0' },
  )
  expect(secretsOfQuotas(quotas)).toEqual(['pass%2Fword', 'pass/word', 'token-of-hook'])
  expect(secretsOfQuotas(undefined)).toEqual([])
})

test('the file of counts is the gateway’s own', () => {
  const upstreams = { a: { store: 'sqlite', path: 'quotas.db' } }
  const text = JSON.stringify({ upstreams, tiers: { t: { upstream: 'a' } } })
  expect(() => loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/srv' })).toThrow(
    "a.yaml: upstreams.a.path: quotas.db in data_dir is the gateway's own file; name another",
  )
})
