import { CODES } from '../protocol/errors.js'
import { type Check, type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

/** Tiers beyond these are taken at their word. */
const MOST_TIERS = 8

/** Placing and moving (§4.2, §4.6). Consolidate is never tried: it may delete what is not the probe's. */
export const TIER_CHECKS: readonly Check[] = [placing, unknownTiers, moving]

function tiersOf({ told }: Lab): readonly string[] {
  return (told.tiers ?? []).map(({ name }) => name).slice(0, MOST_TIERS)
}

async function placing(lab: Lab, claim: Claim): Promise<void> {
  const step = 'tiers-place'
  const names = tiersOf(lab)
  claim('describe tells its tiers', true, names.length > 0)
  for (const tier of names) {
    const [id] = await lab.write(step, [{ content: 'probe', tier }])
    claim(`a record written to ${tier} is in it`, tier, (await lab.findOne(step, id))?.tier)
    for (const method of ['memory/recall', 'memory/timeline'] as const) {
      const { records } = await lab.call(method, { ...lab.of(step), tier })
      const mine = records.filter((record) => lab.isMine(record)).map((record) => record.id)
      claim(
        `${method} of ${tier} gives what is in it`,
        [id],
        mine.filter((one) => one === id),
      )
      const elsewhere = records.filter((record) => record.tier !== tier)
      claim(
        `${method} of ${tier} gives nothing else`,
        [],
        elsewhere.map((record) => record.tier),
      )
    }
  }
}

async function unknownTiers(lab: Lab, claim: Claim): Promise<void> {
  const tier = lab.name('no-such-tier')
  const records = [lab.entry('tiers-unknown', { content: 'probe', tier })]
  const owned = ownerParam(lab.owner)
  const unknown = CODES.UNKNOWN_TIER
  claim(
    'a write to an unknown tier is refused',
    unknown,
    await lab.codeOf('memory/remember', { records, ...owned }),
  )
  claim('and nothing is written', [], await lab.find('tiers-unknown'))
  claim(
    'a recall of an unknown tier is refused',
    unknown,
    await lab.codeOf('memory/recall', { tier, ...owned }),
  )
  claim(
    'a promotion into one is refused',
    unknown,
    await lab.codeOf('memory/promote', { ids: [lab.mark], tier }),
  )
}

async function moving(lab: Lab, claim: Claim): Promise<void> {
  const [from, to] = tiersOf(lab)
  if (from === undefined || to === undefined) return
  const step = 'tiers-move'
  const group = lab.name('group')
  const samples = [{ group }, { group }, {}].map((one) => ({
    ...one,
    content: 'probe',
    tier: from,
  }))
  const ids = await lab.write(step, samples)
  const [first, second, third] = ids
  const before = await lab.findOne(step, third)
  const promote = (moved: string | undefined) =>
    lab.call('memory/promote', { ids: [moved ?? '', lab.name('unknown')], tier: to })
  claim('promote counts what it moved, unknown ids aside', 1, (await promote(third)).promoted)
  const after = await lab.findOne(step, third)
  claim('a promoted record is where it was promoted to', to, after?.tier)
  claim('and as old as it was', before?.created_at, after?.created_at)
  claim('what is there already is not counted', 0, (await promote(third)).promoted)
  await promote(first)
  const tiers = [first, second].map(async (id) => (await lab.findOne(step, id))?.tier)
  const [one, other] = await Promise.all(tiers)
  claim('a group is never torn apart', one, other)
}
