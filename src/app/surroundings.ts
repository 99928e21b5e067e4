import { constants } from 'node:fs'
import { access, mkdir, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../config/config.js'
import { messageOf } from '../protocol/errors.js'

/** How long databases may take to answer, in ms. */
const PATIENCE = 2000

/** What a gateway would run into besides its upstreams: databases that do not answer, files that cannot be written. */
export async function faultsAround(config: Config): Promise<readonly string[]> {
  const faults = await Promise.all([
    redisFault(config),
    postgresFault(config),
    ...fileFaults(config),
  ])
  return faults.filter((fault) => fault !== undefined)
}

async function redisFault({ quotas }: Config): Promise<string | undefined> {
  if (quotas?.redis === undefined) return undefined
  const { url } = quotas.redis
  const { faultOfRedis } = await import('../metering/services.js')
  const fault = await faultOfRedis(url, PATIENCE)
  return fault && `quotas.redis: ${hostOf(url)} does not answer: ${fault}`
}

async function postgresFault({ usage }: Config): Promise<string | undefined> {
  if (usage?.ledger.kind !== 'postgres') return undefined
  const { url } = usage.ledger
  const { faultOfPostgres } = await import('../metering/services.js')
  const fault = await faultOfPostgres(url, PATIENCE)
  return fault && `usage.ledger.postgres: ${hostOf(url)} does not answer: ${fault}`
}

/** Never with a password. */
function hostOf(url: string): string {
  return new URL(url).host || 'the server'
}

function fileFaults({ audit, usage }: Config): Promise<string | undefined>[] {
  const log = audit === undefined ? [] : [fileFault('audit.path', audit.path)]
  const sinks = (usage?.sinks ?? []).flatMap((sink) =>
    sink.kind === 'json-lines' ? [fileFault(`usage.sinks.${sink.name}.jsonl`, sink.path)] : [],
  )
  return [...log, ...sinks]
}

async function fileFault(setting: string, file: string): Promise<string | undefined> {
  try {
    await tryFolder(dirname(file))
    await tryFile(file)
    return undefined
  } catch (thrown) {
    const reason = messageOf(thrown)
    return `${setting}: ${file} cannot be written: ${reason}`
  }
}

/** Of one that is missing, what would have to be made first is made and taken away again. */
async function tryFolder(path: string): Promise<void> {
  if (await isFolder(path)) return access(path, constants.W_OK | constants.X_OK)
  const parent = dirname(path)
  if (parent !== path && !(await exists(parent))) return tryFolder(parent)
  await mkdir(path)
  await rmdir(path)
}

async function tryFile(path: string): Promise<void> {
  if (await isFolder(path)) throw new Error('it is a folder')
  if (await exists(path)) await access(path, constants.W_OK)
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (thrown: unknown) => !(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'),
  )
}
