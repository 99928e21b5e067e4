import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { MixedMemory } from './mixed-memory.js'
import { Names, unqualified } from './names.js'
import { whose } from './reading.js'

type Result = ResultOf<'memory/session/list'>
type Listed = Result['sessions'][number]

/** The sessions of an owner, by their names at the upstream; of everybody's, those that are called alike are one. */
export async function listSessions(
  mixed: MixedMemory,
  params: ParamsOf<'memory/session/list'>,
  context: Context,
): Promise<Result> {
  const owner = whose(params, context)
  const names = owner === undefined ? undefined : new Names(owner)
  const told = await mixed.inner.call('memory/session/list', {}, context)
  const sessions = new Map<string, Listed>()
  for (const one of told.sessions) {
    const session = names === undefined ? unqualified(one.session) : names.restore(one.session)
    if (session === undefined) continue
    const other = sessions.get(session)
    sessions.set(session, other === undefined ? { ...one, session } : joined(other, one))
  }
  return { ...told, sessions: [...sessions.values()] }
}

function joined(one: Listed, other: Listed): Listed {
  const tiers = new Map(Object.entries(one.tiers ?? {}))
  for (const [tier, count] of Object.entries(other.tiers ?? {})) {
    tiers.set(tier, (tiers.get(tier) ?? 0) + count)
  }
  const opened = [one.opened_at, other.opened_at].filter((at) => at !== undefined).sort()[0]
  const touched = [one.touched_at, other.touched_at]
    .filter((at) => at !== undefined)
    .sort()
    .at(-1)
  return {
    session: one.session,
    records: one.records + other.records,
    ...(one.tiers && other.tiers ? { tiers: Object.fromEntries(tiers) } : {}),
    ...(opened === undefined ? {} : { opened_at: opened }),
    ...(touched === undefined ? {} : { touched_at: touched }),
  }
}
