import { expect, test } from 'vitest'
import { storeEvents } from '../../../src/app/quota-store-events.js'

type Redis = Parameters<typeof storeEvents>[0]

/** What is logged while the counts are away. */
function told(redis: Redis): readonly unknown[] {
  const lines: unknown[] = []
  const log = {
    info: (...line: unknown[]) => void lines.push(...line),
    warn: (...line: unknown[]) => void lines.push(...line),
  }
  const events = storeEvents(redis, log, { alone: () => {}, store: () => {} })
  events.store('down', 'it did not answer in time')
  events.store('up')
  return lines
}

test.each([
  ['open', 'every call is let through'],
  ['closed', 'calls that count are refused'],
  ['local', 'this gateway gives its share of what was left'],
] as const)(
  'Redis away, %s: its address and what is done meanwhile, no secret',
  (onFailure, meanwhile) => {
    const lines = told({
      url: 'redis://canary:canary@db.internal:6380/3?password=canary',
      onFailure,
    })
    expect(lines).toEqual([
      {
        redis: 'db.internal:6380',
        reason: 'it did not answer in time',
        on_failure: onFailure,
        meanwhile,
      },
      'Redis is away: the counts of quotas are not kept',
      { redis: 'db.internal:6380' },
      'the counts of quotas are kept again',
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
  },
)

test.each([
  ['rediss://canary@db.internal', 'db.internal:6379'],
  ['redis://[::1]:7000', '[::1]:7000'],
  ['redis:///2', 'localhost:6379'],
])('%s is at %s', (url, redis) => {
  expect(told({ url, onFailure: 'open' })[0]).toMatchObject({ redis })
})

test('a file that cannot be written is no Redis', () => {
  expect(told(undefined).slice(0, 2)).toEqual([
    { reason: 'it did not answer in time' },
    'the counts of quotas are not kept',
  ])
})
