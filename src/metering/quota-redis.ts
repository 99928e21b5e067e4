import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

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
  /** Raises counts to `known` where they are lower, and then adds `amount`; returns what they came to. */
  raise(takes: readonly RemoteRaise[]): Promise<readonly number[]>
  /** Resolves when something can be written. */
  probe(key: string): Promise<unknown>
  close(): void
}

export interface RemoteRaise extends Pick<RemoteTake, 'key' | 'amount' | 'life'> {
  readonly known: number
}

/** Looks at all counts before it changes any; Redis runs one script at a time. */
const RESERVE = `
local used, refused = {}, 0
for i, key in ipairs(KEYS) do
  used[i] = tonumber(redis.call('GET', key) or '0')
  local limit = ARGV[3 * i - 1]
  if refused == 0 and limit ~= '' and used[i] + tonumber(ARGV[3 * i - 2]) > tonumber(limit) then
    refused = i
  end
end
if refused == 0 then
  for i, key in ipairs(KEYS) do
    used[i] = redis.call('INCRBY', key, ARGV[3 * i - 2])
    redis.call('PEXPIRE', key, ARGV[3 * i])
  end
end
table.insert(used, 1, refused)
return used`

const SETTLE = `
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 and redis.call('INCRBY', key, ARGV[i]) < 0 then
    redis.call('INCRBY', key, -tonumber(redis.call('GET', key)))
  end
end`

const RAISE = `
local used = {}
for i, key in ipairs(KEYS) do
  local known = tonumber(ARGV[3 * i - 2])
  local count = tonumber(redis.call('GET', key) or '0')
  if count < known then redis.call('INCRBY', key, known - count) end
  used[i] = redis.call('INCRBY', key, ARGV[3 * i - 1])
  redis.call('PEXPIRE', key, ARGV[3 * i])
end
return used`

export interface RedisOptions {
  readonly url: string
  /** The longest that a connection may take, in ms. */
  readonly connectTimeout: number
  /** Called whenever the connection is gone. */
  readonly lost: () => void
}

/** Resolves when it is connected, or when that has failed once; it goes on trying by itself. */
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
  await client.connect().catch(() => {})
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
    async raise(takes) {
      const rest = takes.flatMap(({ known, amount, life }) => [known, amount, life])
      return numbers(await raise(takes.map(keyIn), rest))
    },
    probe: (key) => client.set(key, 1, 'PX', 1000),
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
