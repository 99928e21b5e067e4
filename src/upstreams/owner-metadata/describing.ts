import { copyWith } from '../../protocol/copy.js'
import { A2mError, Fault } from '../../protocol/errors.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { Context } from '../../protocol/memory.js'
import { type Description, type ParamsOf, SPECS } from '../../protocol/methods.js'
import { OWNER_MEMBER } from '../reserved.js'
import type { MixedMemory, Reading } from './mixed-memory.js'
import { readInOrder, whose } from './reading.js'
import { NOBODYS } from './stamp.js'

/** What an upstream does for all its records at once, or tells of all: nothing of it is one owner's, and the gateway has its own. */
const WITHHELD: ReadonlySet<string> = new Set(['scopes', 'events', 'summarize', 'prompt'])

/** Methods that reorganise everybody's records, whoever calls them. */
const OF_ALL: ReadonlySet<string> = new Set([
  'memory/consolidate',
  'memory/session/close',
] as const satisfies readonly (keyof typeof SPECS)[])

/** What an upstream says of itself, as one that keeps owners apart, if it can be kept to that. */
export function declared(told: Description, keepsApart: boolean): Description {
  const { events: _, summarize: _s, prompt: _p, [EXTENSION]: _e, federation: _f, ...rest } = told
  const kept = rest.capabilities.filter((capability) => !WITHHELD.has(capability))
  const capabilities = keepsApart ? [...kept, 'scopes'] : kept
  const methods = rest.methods.filter((method) => {
    const spec = Object.entries(SPECS).find(([name]) => name === method)?.[1]
    return spec !== undefined && capabilities.includes(spec.capability) && !OF_ALL.has(method)
  })
  return { ...rest, capabilities, methods }
}

/** A handshake (§4.1) also tries whether `where` is kept to. Counts of one owner are counted. */
export async function describe(
  mixed: MixedMemory,
  params: ParamsOf<'memory/describe'>,
  context: Context,
): Promise<Description> {
  const { protocol } = params
  const asked = protocol === undefined ? {} : { protocol }
  const told = await mixed.inner.call('memory/describe', asked, context)
  mixed.learn(told)
  if (protocol !== undefined) await listen(mixed, context)
  const own = declared(told, mixed.keepsApart)
  const owner = whose(params, context)
  if (owner === undefined || own.tiers === undefined) return own
  const counts = await countsOf(mixed, copyWith(context, { owner }))
  return {
    ...own,
    tiers: own.tiers.map((tier) => ({ ...tier, count: counts.get(tier.name) ?? 0 })),
  }
}

async function countsOf(
  mixed: MixedMemory,
  context: Context,
): Promise<ReadonlyMap<string, number>> {
  const { gathered } = await readInOrder(mixed, { limit: 0 }, context)
  const counts = new Map<string, number>()
  for (const { record } of gathered) {
    counts.set(record.tier ?? '', (counts.get(record.tier ?? '') ?? 0) + 1)
  }
  return counts
}

const READINGS: readonly Reading[] = ['memory/timeline', 'memory/recall']

/** Whoever tests `where` has no record of an owner that there cannot be. */
async function listen(mixed: MixedMemory, context: Context): Promise<void> {
  await Promise.all(
    READINGS.map(async (method) => {
      if (!mixed.isDeaf(method) && (await answersNobody(mixed, method, context))) {
        mixed.noteDeaf(method)
        mixed.blame('ignored_where', 1)
      }
    }),
  )
}

/** What cannot be tried now is found out by what comes. */
async function answersNobody(
  { inner }: MixedMemory,
  method: Reading,
  context: Context,
): Promise<boolean> {
  try {
    const params = { where: { [OWNER_MEMBER]: NOBODYS }, limit: 1 }
    return (await inner.call(method, params, context)).records.length > 0
  } catch (thrown) {
    if (thrown instanceof A2mError || thrown instanceof Fault) return false
    throw thrown
  }
}
