import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { answered } from './quota-answered.js'

/** One count in Redis that is to be changed. */
export interface RemoteTake {
  readonly key: string
  readonly amount: number
  /** Undefined: whatever it comes to. */
  readonly limit: number | undefined
  /** How long the key is needed, in ms. */
  readonly life: number
}

/** What became of the takes: all were made, or `by` did not fit and none was. */
export interface RemoteAnswer {
  readonly by: number | undefined
  readonly used: readonly number[]
}

/** Counts in Redis. Everything rejects where it does not answer, and says nothing of whether it acted. */
export interface RemoteCounts {
  reserve(takes: readonly RemoteTake[]): Promise<RemoteAnswer>
  /** Adds to counts that are there, never below 0. */
  settle(takes: readonly Pick<RemoteTake, 'key' | 'amount'>[]): Promise<unknown>
  /** Whether the key was not there before. */
  claim(key: string, life: number): Promise<boolean>
  /** Makes up for what was not counted, and returns what the counts came to. `lost`: the counts were not kept. */
  raise(takes: readonly RemoteRaise[], counts: 'kept' | 'lost'): Promise<readonly number[]>
  /** Writes the mark where there is none, and returns the one that is there. */
  mark(key: string, mark: string): Promise<string>
  close(): void
}

/** `known` is what a gateway last heard of the count, `amount` what it has taken since. */
export interface RemoteRaise extends Pick<RemoteTake, 'key' | 'amount' | 'life'> {
  readonly known: number
}

/*
 * A count is a hash: `n`, what was counted, and `b`, what was counted before Redis last lost it, as far as the gateways knew.
 * Redis runs one script at a time.
 */

/** Looks at all counts before it changes any. */
const RESERVE = `
local used, refused = {}, 0
for i, key in ipairs(KEYS) do
  local count = redis.call('HMGET', key, 'n', 'b')
  used[i] = tonumber(count[1] or 0) + tonumber(count[2] or 0)
  local limit = ARGV[3 * i - 1]
  if refused == 0 and limit ~= '' and used[i] + tonumber(ARGV[3 * i - 2]) > tonumber(limit) then
    refused = i
  end
end
if refused == 0 then
  for i, key in ipairs(KEYS) do
    used[i] = used[i] + tonumber(ARGV[3 * i - 2])
    redis.call('HINCRBY', key, 'n', ARGV[3 * i - 2])
    redis.call('PEXPIRE', key, ARGV[3 * i])
  end
end
table.insert(used, 1, refused)
return used`

const SETTLE = `
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then
    local used = redis.call('HINCRBY', key, 'n', ARGV[i]) + tonumber(redis.call('HGET', key, 'b') or 0)
    if used < 0 then redis.call('HINCRBY', key, 'n', -used) end
  end
end`

/** Where the counts were lost, what the gateways knew of one count is the same calls, but what each has taken since is its own. */
const RAISE = `
local used = {}
for i, key in ipairs(KEYS) do
  local count = redis.call('HMGET', key, 'n', 'b')
  local n, b, known = tonumber(count[1] or 0), tonumber(count[2] or 0), tonumber(ARGV[3 * i - 1])
  if ARGV[1] == 'lost' then b = math.max(b, known) else b = math.max(b, known - n) end
  redis.call('HSET', key, 'n', n + tonumber(ARGV[3 * i]), 'b', b)
  redis.call('PEXPIRE', key, ARGV[3 * i + 1])
  used[i] = n + b + tonumber(ARGV[3 * i])
end
return used`

export interface RedisOptions {
  readonly url: string
  /** The longest that a connection may take, in ms. */
  readonly connectTimeout: number
  /** Called whenever the connection is gone. */
  readonly lost: () => void
}

/** Resolves when it is connected, or when that has failed once or took too long; it goes on trying by itself. */
export async function connectRedis({
  url,
  connectTimeout,
  lost,
}: RedisOptions): Promise<RemoteCounts> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    protocol: 2,
    retryStrategy: (times) => Math.min(100 * times, 1000),
  })
  // Whoever asks is told by its own rejection; without a listener the process would end.
  client.on('error', () => {})
  client.on('close', lost)
  await answered(client.connect(), connectTimeout)
  return countsOn(client)
}

function countsOn(client: Redis): RemoteCounts {
  const reserve = scriptOn(client, RESERVE)
  const settle = scriptOn(client, SETTLE)
  const raise = scriptOn(client, RAISE)
  return {
    async reserve(takes) {
      const rest = takes.flatMap(({ amount, limit, life }) => [amount, limit ?? '', life])
      const [refused = 0, ...used] = numbers(await reserve(takes.map(keyIn), rest))
      return { by: refused === 0 ? undefined : refused - 1, used }
    },
    settle: (takes) =>
      settle(
        takes.map(keyIn),
        takes.map(({ amount }) => amount),
      ),
    claim: async (key, life) => (await client.set(key, 1, 'PX', life, 'NX')) === 'OK',
    async raise(takes, counts) {
      const rest = takes.flatMap(({ known, amount, life }) => [known, amount, life])
      return numbers(await raise(takes.map(keyIn), [counts, ...rest]))
    },
    async mark(key, mark) {
      await client.set(key, mark, 'NX')
      return (await client.get(key)) ?? ''
    },
    close: () => client.disconnect(),
  }
}

function keyIn({ key }: { readonly key: string }): string {
  return key
}

type Script = (keys: readonly string[], rest: readonly (string | number)[]) => Promise<unknown>

/** Redis is told a script's text once, and knows it by its digest until it is started anew. */
function scriptOn(client: Redis, text: string): Script {
  const digest = createHash('sha1').update(text).digest('hex')
  return async (keys, rest) => {
    try {
      return await client.evalsha(digest, keys.length, ...keys, ...rest)
    } catch (thrown) {
      if (!(thrown instanceof Error && thrown.message.startsWith('NOSCRIPT'))) throw thrown
      return await client.eval(text, keys.length, ...keys, ...rest)
    }
  }
}

function numbers(answer: unknown): readonly number[] {
  if (!Array.isArray(answer)) throw new TypeError('no list')
  return answer.map(Number)
}
