import { CODES } from '../protocol/errors.js'
import {
  CAPABILITIES,
  type Capability,
  isMethod,
  type Method,
  methodsOf,
  type ParamsOf,
  SPECS,
} from '../protocol/methods.js'
import type { Lab } from './lab.js'
import type { Claim } from './report.js'

/** What it says of itself, and that it refuses what it does not say (§2, §4.1). */
export async function probeItself(lab: Lab, claim: Claim): Promise<void> {
  const declared = new Set(CAPABILITIES.filter((capability) => lab.has(capability)))
  claim('core is declared', true, declared.has('core'))
  const missing = methodsOf(declared).filter((method) => !lab.told.methods.includes(method))
  claim('the methods of what is declared are all named', [], missing)
  const surplus = lab.told.methods.filter(
    (name) => isMethod(name) && !declared.has(SPECS[name].capability),
  )
  claim('no method of anything else is', [], surplus)
  await otherVersion(lab, claim)
  for (const method of Object.keys(HARMLESS).filter(isMethod)) {
    if (!declared.has(SPECS[method].capability)) await refused(lab, claim, method)
  }
  await fields(lab, claim)
  await limits(lab, claim)
}

async function otherVersion(lab: Lab, claim: Claim): Promise<void> {
  const protocol = 'a2m/0.999'
  const code = await lab.codeOf('memory/describe', { protocol })
  if (code !== undefined) {
    claim('another version is refused as such', CODES.PROTOCOL_NOT_SUPPORTED, code)
    return
  }
  const told = await lab.call('memory/describe', { protocol })
  claim('it does not pretend to speak another version', false, told.protocol === protocol)
}

type Params = { readonly [M in Method]?: (mark: string) => ParamsOf<M> }

/** Calls that change nothing, should a server answer them though it declares no such thing. */
const HARMLESS: Params = {
  'memory/promote': (mark) => ({ ids: [mark], tier: mark }),
  'memory/reinforce': (mark) => ({ ids: [mark] }),
  'memory/fetch': (key) => ({ key }),
  'memory/session/list': () => ({}),
  'memory/session/close': (session) => ({ session }),
  'memory/events': () => ({}),
  'memory/summarize': (mark) => ({ ids: [mark] }),
}

async function refused<M extends Method>(lab: Lab, claim: Claim, method: M): Promise<void> {
  const params = HARMLESS[method]?.(lab.mark)
  if (params === undefined) return
  const code = await lab.codeOf(method, params)
  claim(
    `${method}, which is not declared, is refused as such`,
    CODES.CAPABILITY_NOT_SUPPORTED,
    code,
  )
}

const FIELDS: readonly (readonly [Capability, object])[] = [
  ['salience', { salience: 0.5 }],
  ['sessions', { session: 's' }],
  ['keys', { key: 'a2m-probe/undeclared' }],
  ['embeddings', { embedding: [1, 0] }],
  ['external', { uri: 'urn:a2m-probe', media_type: 'text/plain' }],
]

async function fields(lab: Lab, claim: Claim): Promise<void> {
  for (const [capability, field] of FIELDS) {
    if (lab.has(capability)) continue
    const records = [lab.entry('fields', { content: 'probe', ...field })]
    const code = await lab.codeOf('memory/remember', { records })
    claim(`fields of ${capability}, which is not declared, are ignored`, undefined, code)
  }
  if (!lab.has('prompt')) {
    const { prompt } = await lab.call('memory/recall', { ...lab.of('fields'), prompt: true })
    claim('a prompt, which is not declared, is not made', undefined, prompt)
  }
  if (lab.has('tiers')) return
  const records = [lab.entry('fields', { content: 'probe', tier: lab.mark })]
  const code = await lab.codeOf('memory/remember', { records })
  claim('a tier, where none are declared, is refused', CODES.CAPABILITY_NOT_SUPPORTED, code)
}

/** A limit that is so high that passing it would be a burden is taken at its word. */
const MOST_RECORDS = 100
const MOST_CHARACTERS = 100_000

async function limits(lab: Lab, claim: Claim): Promise<void> {
  const { max_recall_limit, max_records_per_call, max_content_length } = lab.told.limits ?? {}
  const refused = (code: number | undefined) =>
    code === CODES.INVALID_PARAMS || code === CODES.QUOTA_EXCEEDED
  if (max_recall_limit !== undefined) {
    const code = await lab.codeOf('memory/recall', { limit: max_recall_limit + 1 })
    claim('max_recall_limit is enforced', true, refused(code))
  }
  if (max_records_per_call !== undefined && max_records_per_call <= MOST_RECORDS) {
    const records = Array.from({ length: max_records_per_call + 1 }, () =>
      lab.entry('limits', { content: 'x' }),
    )
    claim(
      'max_records_per_call is enforced',
      true,
      refused(await lab.codeOf('memory/remember', { records })),
    )
  }
  if (max_content_length !== undefined && max_content_length <= MOST_CHARACTERS) {
    const records = [lab.entry('limits', { content: 'x'.repeat(max_content_length + 1) })]
    claim(
      'max_content_length is enforced',
      true,
      refused(await lab.codeOf('memory/remember', { records })),
    )
  }
}
