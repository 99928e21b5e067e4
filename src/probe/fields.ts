import { type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

/** That salience is kept and raised (§4.8). */
export async function probeSalience(lab: Lab, claim: Claim): Promise<void> {
  const step = 'salience'
  const [id = ''] = await lab.write(step, [{ content: 'probe', salience: 0.25 }])
  const before = (await lab.findOne(step, id))?.salience
  claim('a record tells its salience', 'number', typeof before)
  const ids = [id, lab.name('unknown')]
  const { reinforced } = await lab.call('memory/reinforce', { ids, amount: 0.25 })
  claim('reinforce counts the records that there are', 1, reinforced)
  const after = (await lab.findOne(step, id))?.salience
  claim('reinforce raises the salience', true, (after ?? 0) > (before ?? 0))
}

/** That a reference comes back as it was, and needs no content (§3.8). That nothing is fetched cannot be seen from here. */
export async function probeExternal(lab: Lab, claim: Claim): Promise<void> {
  const step = 'external'
  const uri = `urn:a2m-probe:${lab.mark}#%20%C3%A9`
  const media_type = 'text/plain; charset=utf-8'
  const [id] = await lab.write(step, [{ content: '', uri, media_type }])
  const found = await lab.findOne(step, id)
  claim('a uri comes back unchanged', uri, found?.uri)
  claim('a media type comes back unchanged', media_type, found?.media_type)
  claim('content may be empty where there is a uri', '', found?.content)
}

/** That each change is told once (§4.12). */
export async function probeEvents(lab: Lab, claim: Claim): Promise<void> {
  const owned = ownerParam(lab.owner)
  const start = await lab.call('memory/events', owned)
  claim('without a cursor there are no events', [], start.events)
  const ids = await lab.write('events', [{ content: 'one' }, { content: 'two' }])
  const told: unknown[] = []
  let cursor = start.cursor
  for (
    let more: boolean | undefined = true, polls = 0;
    more === true && polls < MOST_POLLS;
    polls++
  ) {
    const answer = await lab.call('memory/events', { cursor, ...owned })
    told.push(...answer.events.filter(({ kind }) => kind === 'written').map((event) => event['id']))
    cursor = answer.cursor
    more = answer.more
  }
  claim(
    'each write is told once, in order',
    ids,
    told.filter((id) => ids.includes(String(id))),
  )
  const after = await lab.call('memory/events', { cursor, ...owned })
  const repeated = after.events.map((event) => event['id']).filter((id) => ids.includes(String(id)))
  claim('and not again after its cursor', [], repeated)
}

const MOST_POLLS = 50
