import { answered } from './quota-answered.js'

/** What keeps Redis from answering, for people and without its URL; undefined where it answers within so many ms. */
export async function faultOfRedis(url: string, timeout: number): Promise<string | undefined> {
  const { Redis } = await import('ioredis')
  let failure = ''
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeout,
    maxRetriesPerRequest: 0,
    protocol: 2,
    retryStrategy: () => null,
  })
  // It tells more than the rejection does.
  client.on('error', (error) => {
    failure ||= reasonOf(error)
  })
  const asked = client.connect().then(() => client.ping())
  const answer = await answered(asked, timeout)
  client.disconnect()
  return answer.kind === 'given' ? undefined : failure || answer.reason
}

/** The same of PostgreSQL. */
export async function faultOfPostgres(url: string, timeout: number): Promise<string | undefined> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeout })
  client.on('error', () => {})
  const asked = client.connect().then(() => client.query('SELECT 1'))
  const answer = await answered(asked.catch(rethrow), timeout)
  client.end().catch(() => {})
  return answer.kind === 'given' ? undefined : answer.reason
}

function rethrow(thrown: unknown): never {
  throw new Error(reasonOf(thrown))
}

/** Where a name has several addresses, an error that none answers has no message of its own. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  if (thrown.message !== '') return thrown.message
  return 'code' in thrown ? String(thrown.code) : thrown.name
}
