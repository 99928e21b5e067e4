import { CODES } from '../protocol/errors.js'
import { type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

/** That text comes beside the records and changes none (§4.16). No model is ever asked. */
export async function probePrompts(lab: Lab, claim: Claim): Promise<void> {
  const step = 'prompt'
  await lab.write(step, [{ content: 'the first of probes' }, { content: 'the second of probes' }])
  const recall = (prompt: ParamsOfPrompt) => lab.call('memory/recall', { ...lab.of(step), prompt })
  const bare = await lab.call('memory/recall', lab.of(step))
  const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id)
  claim('nothing is rendered unless asked for', undefined, bare.prompt)
  const full = await recall(true)
  claim('records are the same with a prompt', idsOf(bare.records), idsOf(full.records))
  claim('a prompt is text', 'string', typeof full.prompt)
  claim(
    'prompt_ids are of the records',
    [...idsOf(full.records)].sort(),
    [...(full.prompt_ids ?? [])].sort(),
  )
  const none = await recall({ budget: 0 })
  claim('a budget of 0 leaves nothing', ['', []], [none.prompt, none.prompt_ids])
  const refused = { ...lab.of(step), prompt: { method: lab.mark } }
  claim(
    'an unknown method is refused',
    CODES.INVALID_PARAMS,
    await lab.codeOf('memory/recall', refused),
  )
}

type ParamsOfPrompt = true | { readonly budget: number }

/** That a summary leaves what it was made from (§4.15). One without a selector is never asked for. */
export async function probeSummaries(lab: Lab, claim: Claim): Promise<void> {
  const step = 'summarize'
  const ids = await lab.write(step, [
    { content: 'The deploy key of the probe rotates every ninety days.' },
    { content: 'The vault of the platform team holds the deploy key of the probe.' },
  ])
  const told = await lab.call('memory/summarize', { ids, ...ownerParam(lab.owner) })
  lab.note(told.records)
  claim('a summary tells how many records it wrote', told.records.length, told.written)
  claim(
    'a summary leaves its sources',
    [...ids].sort(),
    (await lab.find(step)).map(({ id }) => id).sort(),
  )
}
