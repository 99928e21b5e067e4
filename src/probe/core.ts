import { type Check, type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

const METADATA = {
  text: 'é 😀 \u2028 "quoted"',
  numbers: [0, -1, 2.5, 1e21],
  nothing: null,
  truth: true,
  nested: { '': {}, a: [[]] },
}
const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** What every server must do (§4.2 to §4.5). A forget that selects nothing is never tried: a liar would forget everything. */
export const CORE_CHECKS: readonly Check[] = [writing, recalling, timelines, forgetting]

async function writing(lab: Lab, claim: Claim): Promise<void> {
  const step = 'core-write'
  const samples = [
    { content: 'probe one', role: 'some role', group: lab.name('group'), metadata: METADATA },
    { content: 'probe two' },
  ]
  const entries = samples.map((sample) => lab.entry(step, sample))
  const owned = ownerParam(lab.owner)
  const { ids } = await lab.call('memory/remember', { records: entries, ...owned })
  const given = entries.map(({ id }) => id)
  claim('an id that the caller gives is the id of the record, in order', given, ids)
  const [first] = ids
  const found = await lab.findOne(step, first)
  claim('content comes back', samples[0]?.content, found?.content)
  claim('role comes back', 'some role', found?.role)
  claim('group comes back', samples[0]?.group, found?.group)
  claim('metadata comes back unchanged', entries[0]?.metadata?.value(), found?.metadata?.value())
  claim('created_at is in UTC with milliseconds', true, CANONICAL.test(found?.created_at ?? ''))
  const again = await lab.write(step, [{ id: given[0] ?? '', content: 'probe one again' }])
  claim('a write of an id that exists returns that id', [first], again)
  claim('and makes no second record', ids.length, (await lab.find(step)).length)
  const odd = {
    records: [{ ...lab.entry(step, { content: 'odd' }), colour: 'red' }],
    ...owned,
    size: 5,
  }
  claim(
    'what it does not know in a write is ignored',
    undefined,
    await lab.codeOf('memory/remember', odd),
  )
}

async function recalling(lab: Lab, claim: Claim): Promise<void> {
  const step = 'core-recall'
  const word = `zyx${lab.mark.replace(/\W/g, '')}`
  const roles = ['user', 'assistant', 'tool']
  const ids = await lab.write(
    step,
    roles.map((role, place) => ({
      content: place === 1 ? `probe ${word}` : 'probe',
      role,
      metadata: { place },
    })),
  )
  const recall = async (more: object) => {
    const params = lab.of(step)
    const merged = { ...params, ...more, where: { ...params.where, ...Reflect.get(more, 'where') } }
    return (await lab.call('memory/recall', merged)).records
  }
  const idsOf = async (more: object) => (await recall(more)).map(({ id }) => id).sort()
  claim(
    'the record that holds the word asked for is the first',
    ids[1],
    (await recall({ query: word }))[0]?.id,
  )
  const scores = (await recall({ query: `probe ${word}` })).map(({ score }) => score ?? Number.NaN)
  claim(
    'scores descend',
    scores.toSorted((a, b) => b - a),
    scores,
  )
  claim('recall without a query is answered', [...ids].sort(), await idsOf({}))
  claim('recall gives no more than asked for', 2, (await recall({ limit: 2 })).length)
  claim('where tests a field', [ids[0]], await idsOf({ where: { role: 'user' } }))
  claim(
    'where takes any of several values',
    [ids[0], ids[2]].sort(),
    await idsOf({ where: { role: ['user', 'tool'] } }),
  )
  claim('where tests metadata', [ids[2]], await idsOf({ where: { place: 2 } }))
  claim('where that nothing passes finds nothing', [], await idsOf({ where: { role: lab.mark } }))
  claim(
    'what it does not know in a recall is ignored',
    [...ids].sort(),
    await idsOf({ colour: 'red' }),
  )
}

async function timelines(lab: Lab, claim: Claim): Promise<void> {
  const ids = await lab.writeApart(
    'core-timeline',
    ['a', 'b', 'c'].map((content) => ({ content })),
  )
  const owned = ownerParam(lab.owner)
  const read = async (limit: number) => {
    const { records } = await lab.call('memory/timeline', { limit: lab.limit(limit), ...owned })
    return records
  }
  const records = await read(50)
  const times = records.map(({ created_at }) => Date.parse(created_at))
  claim(
    'timeline is the oldest first',
    times.toSorted((a, b) => a - b),
    times,
  )
  const mine = records.filter(({ id }) => ids.includes(id)).map(({ id }) => id)
  claim('timeline has what was written, in that order', ids, mine)
  const newest = (await read(2)).filter((record) => lab.isMine(record)).map(({ id }) => id)
  claim('a limit of timeline takes the newest', ids.slice(-2), newest)
}

async function forgetting(lab: Lab, claim: Claim): Promise<void> {
  const step = 'core-forget'
  const ids = await lab.write(step, [{ content: 'stays' }, { content: 'goes' }])
  const owned = ownerParam(lab.owner)
  const told = await lab.call('memory/forget', { ids: ids.slice(1), ...owned })
  claim('forget counts what it removed', 1, told.forgotten)
  const left = (await lab.find(step)).map(({ id }) => id)
  claim('forget removes what was named, and nothing else', ids.slice(0, 1), left)
}
