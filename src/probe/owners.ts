import type { Lab } from './lab.js'
import type { Claim } from './report.js'

/** That owners are kept apart (§6), and that the gateway's credential may act for any of them. */
export async function probeOwners(lab: Lab, claim: Claim): Promise<void> {
  const { owner, other } = lab
  if (owner === undefined || other === undefined) return
  const step = 'owners'
  const [mine] = await lab.write(step, [{ content: 'probe of one' }], owner)
  const [theirs] = await lab.write(step, [{ content: 'probe of the other' }], other)
  const seenBy = async (whose: string) => (await lab.find(step, whose)).map(({ id }) => id)
  claim('an owner recalls its own records', [mine], await seenBy(owner))
  claim('and nobody else does', [theirs], await seenBy(other))
  claim('a record tells its owner', owner, (await lab.find(step, owner))[0]?.owner)
  const { records } = await lab.call('memory/timeline', lab.of(step, other))
  claim(
    'nor has anybody else them in a timeline',
    false,
    records.some(({ id }) => id === mine),
  )
  await lab.codeOf('memory/forget', { ids: [mine ?? ''], owner: other })
  claim('another owner cannot forget them', [mine], await seenBy(owner))
}
