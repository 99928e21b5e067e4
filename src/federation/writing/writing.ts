import { Cancellation } from '../../protocol/cancellation.js'
import { A2mError, CODES, Fault, messageOf } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { Owner } from '../../protocol/scope.js'
import type { Outbound } from '../../upstreams/phrasing.js'
import { ask } from '../fan-out.js'
import { portions } from '../grouping.js'
import type { Source } from '../layout.js'
import type { Parts } from '../parts.js'

/** A write that has begun is finished whether or not the caller is still there. */
export function unstoppable(context: Context): Context {
  return { ...context, cancellation: new Cancellation() }
}

/** A write that an upstream refused or did not confirm; `outcome` says whether it may have been done all the same. */
export interface Failed {
  readonly state: 'failed'
  readonly outcome: 'refused' | 'not_sent' | 'unknown'
  readonly thrown: unknown
}

/** How a write at one upstream ended. */
export type Written = { readonly state: 'done' } | Failed

/** Writes records at one upstream and holds it to the ids that it was given. */
export async function write(
  parts: Parts,
  source: Source,
  items: readonly Outbound[],
  context: Context,
): Promise<Written> {
  const sent = await send(parts, source, items, context)
  if (sent.state === 'failed') return sent
  return items.every(({ entry }, index) => sent.ids[index] === entry.id)
    ? { state: 'done' }
    : otherIds()
}

/** Writes records at one upstream. `ids` are what it calls them; only an entry with a key may have got another than its own. */
export async function send(
  parts: Parts,
  source: Source,
  items: readonly Outbound[],
  context: Context,
): Promise<{ readonly state: 'done'; readonly ids: readonly string[] } | Failed> {
  journalled('not_sent', () => parts.echoes?.expect(source, items))
  const params = source.translation.writing(items)
  const { result, thrown } = await ask(
    'memory/remember',
    { source, params, owner: ownerOfAll(items) },
    context,
    parts.clock,
  )
  if (result === undefined) {
    const failed = failure(thrown)
    if (failed.outcome !== 'unknown') parts.echoes?.unexpect(source, items)
    else noteVectors(parts, items)
    return failed
  }
  noteVectors(parts, items)
  const { ids } = result
  const kept =
    ids.length === items.length &&
    items.every(({ entry }, index) => entry.key !== undefined || ids[index] === entry.id)
  return kept ? { state: 'done', ids } : otherIds()
}

/** The one owner that entries are of; undefined where they are of several. */
function ownerOfAll(items: readonly Outbound[]): Owner {
  const owner = items[0]?.entry.owner ?? null
  return items.every(({ entry }) => (entry.owner ?? null) === owner) ? owner : undefined
}

/** A store keeps the width of its first vector for good, also once that is gone again. */
function noteVectors({ width }: Parts, items: readonly Outbound[]): void {
  if (items.some(({ entry }) => entry.embedding !== undefined)) width.accept()
}

function otherIds(): Failed {
  return failure(new Fault('bad_reply', 'it answered other ids than it was given'))
}

/** How a write ended that threw. */
export function failure(thrown: unknown): Failed {
  if (thrown instanceof A2mError) return { state: 'failed', outcome: 'refused', thrown }
  const outcome = thrown instanceof Fault ? thrown.outcome : 'unknown'
  return { state: 'failed', outcome, thrown }
}

/** Upstreams' refusals that say something of the gateway's standing there and nothing of the caller's call. */
const NOT_THE_CALLERS: ReadonlySet<number> = new Set([
  CODES.CAPABILITY_NOT_SUPPORTED,
  CODES.READ_ONLY,
  CODES.SCOPE_DENIED,
  CODES.QUOTA_EXCEEDED,
])

/** The error that a failed write at an upstream is for the caller; `data` says more, such as what remains. */
export function writeError(
  source: Source,
  { outcome, thrown }: Failed,
  data: Readonly<Record<string, unknown>>,
): A2mError {
  const detail = { upstream: source.name, outcome, ...data }
  if (thrown instanceof A2mError) {
    const { code, message } = thrown
    if (code === CODES.INVALID_PARAMS || code === CODES.EMBEDDING_MISMATCH)
      return new A2mError(code, `${source.name}: ${message}`, detail)
    const hidden = NOT_THE_CALLERS.has(code) ? '' : `: ${message}`
    return new A2mError('INTERNAL_ERROR', `${source.name} refused the write${hidden}`, {
      ...detail,
      code,
    })
  }
  const reason = thrown instanceof Fault ? thrown.message : 'internal error'
  return new A2mError(
    'INTERNAL_ERROR',
    `${source.name} did not confirm the write: ${reason}`,
    detail,
  )
}

/** Runs a step of the journal. A disk that takes nothing is an error of its own, with what it leaves of the call. */
export function journalled(outcome: 'not_sent' | 'unknown', step: () => void): void {
  try {
    step()
  } catch (thrown) {
    const reason = messageOf(thrown)
    const message = `the gateway cannot write its journal: ${reason}`
    throw new A2mError('INTERNAL_ERROR', message, { outcome })
  }
}

/** Ids in one forget. */
const IDS_PER_FORGET = 500

/** Deletes records by their ids at one upstream. Returns how many it says are gone, and the failure that ended it early. */
export async function erase(
  parts: Parts,
  source: Source,
  { ids, owner }: { readonly ids: readonly string[]; readonly owner: Owner },
  context: Context,
): Promise<{
  readonly gone: number
  readonly failed: Failed | undefined
}> {
  let gone = 0
  for (const portion of portions(ids, IDS_PER_FORGET)) {
    const params = source.translation.forgetting(portion, owner)
    const { result, thrown } = await ask(
      'memory/forget',
      { source, params, owner },
      context,
      parts.clock,
    )
    if (result === undefined) {
      return { gone, failed: failure(thrown) }
    }
    gone += Math.min(result.forgotten, portion.length)
    parts.carried.remove(source.name, owner ?? '', portion)
  }
  return { gone, failed: undefined }
}
