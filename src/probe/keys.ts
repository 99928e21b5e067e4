import { CODES } from '../protocol/errors.js'
import { type Check, type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

/** That a key addresses one fact, which is rewritten in place (§3.6, §4.9). */
export const KEY_CHECKS: readonly Check[] = [rewriting, prefixes]

async function rewriting(lab: Lab, claim: Claim): Promise<void> {
  const step = 'keys'
  const key = `${lab.mark}/user/city`
  const owned = ownerParam(lab.owner)
  const fetch = async () => (await lab.call('memory/fetch', { key, ...owned })).record
  claim('a key that is not used fetches null', null, await fetch())
  const [id] = await lab.write(step, [{ content: 'Lisbon', key }])
  const first = await fetch()
  claim('a key fetches its record', { id, content: 'Lisbon', key }, picked(first))
  const again = await lab.write(step, [{ content: 'Porto', key }])
  const second = await fetch()
  claim('a write to a key that is used returns the id that is there', [id], again)
  claim('and replaces the content', { id, content: 'Porto', key }, picked(second))
  claim('and adds one to the revision', (first?.revision ?? 0) + 1, second?.revision)
  claim('and leaves one record', 1, (await lab.find(step)).length)
  const empty = await lab.codeOf('memory/fetch', { key: '', ...owned })
  claim('an empty key is refused', CODES.INVALID_PARAMS, empty)
  if (lab.other === undefined) return
  await lab.write(step, [{ content: 'Faro', key }], lab.other)
  claim('another owner’s record of that key is another', 'Porto', (await fetch())?.content)
}

function picked(record: { id: string; content: string; key?: string | undefined } | null) {
  return record && { id: record.id, content: record.content, key: record.key }
}

async function prefixes(lab: Lab, claim: Claim): Promise<void> {
  const step = 'keys-prefix'
  const root = `${lab.mark}/tree`
  const owned = ownerParam(lab.owner)
  const keys = [`${root}/a`, `${root}/a/b`, `${root}/c`]
  const ids = await lab.write(
    step,
    keys.map((key) => ({ content: 'probe', key })),
  )
  const prefix = `${root}/a`
  for (const method of ['memory/recall', 'memory/timeline'] as const) {
    const { records } = await lab.call(method, {
      key_prefix: prefix,
      limit: lab.limit(20),
      ...owned,
    })
    const found = records.map(({ id }) => id).sort()
    claim(`a prefix of ${method} is of what is at and beneath it`, ids.slice(0, 2).sort(), found)
  }
  const { forgotten } = await lab.call('memory/forget', { key_prefix: prefix, ...owned })
  claim('a prefix of forget is, too', 2, forgotten)
  claim(
    'and leaves the rest',
    ids.slice(2),
    (await lab.find(step)).map(({ id }) => id),
  )
}
