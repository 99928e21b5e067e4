import { expect, test } from 'vitest'
import { rateLimitHeaders } from '../../../src/edge/rate-limit.js'
import type { LimitStanding } from '../../../src/protocol/usage.js'

function standing(fields: Partial<LimitStanding> = {}): LimitStanding {
  return {
    name: 'calls-a-minute',
    limit: 100,
    remaining: 58,
    window: 60,
    reset: 42,
    warned: false,
    retryAfter: undefined,
    ...fields,
  }
}

test('a call that counts against nothing has no headers', () => {
  expect(rateLimitHeaders([])).toBeUndefined()
})

test('every limit is in both fields, a stock without a window', () => {
  const stock = { name: 'stock', limit: 1000, remaining: 0, window: undefined, reset: undefined }
  expect(rateLimitHeaders([standing(), standing(stock)])).toEqual({
    'ratelimit-policy': '"calls-a-minute";q=100;w=60, "stock";q=1000',
    ratelimit: '"calls-a-minute";r=58;t=42, "stock";r=0',
  })
})

test('of a limit that counts for several owners, the one with the least left is told', () => {
  const headers = rateLimitHeaders([standing(), standing({ remaining: 3 }), standing()])
  expect(headers?.['ratelimit']).toBe('"calls-a-minute";r=3;t=42')
})

test('limits whose soft limit is passed are named', () => {
  const warned = standing({ name: 'a', warned: true })
  expect(rateLimitHeaders([warned, standing({ name: 'b' })])).toMatchObject({
    'a2m-quota-warning': '"a"',
  })
})

test('a refusal says when to come again, and one for good does not', () => {
  const refused = standing({ remaining: 0, retryAfter: 42 })
  expect(rateLimitHeaders([standing({ name: 'b' }), refused])).toMatchObject({
    'retry-after': '42',
  })
  expect(rateLimitHeaders([standing({ remaining: 0 })])).not.toHaveProperty('retry-after')
})
