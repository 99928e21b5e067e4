import { isDeepStrictEqual } from 'node:util'
import { A2mError, CODES, Fault } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import { CAPABILITIES, type Capability, type Description } from '../protocol/methods.js'
import { cleanUp } from './clean-up.js'
import { CORE_CHECKS } from './core.js'
import { probeEvents, probeExternal, probeSalience } from './fields.js'
import { probeItself } from './itself.js'
import { KEY_CHECKS } from './keys.js'
import { type Check, Lab, toldError } from './lab.js'
import { probeOwners } from './owners.js'
import { type Claim, type ProbeReport, shown, type Untried, type Untruth } from './report.js'
import { probeSessions } from './sessions.js'
import { probePrompts, probeSummaries } from './texts.js'
import { TIER_CHECKS } from './tiers.js'
import { probeVectors } from './vectors.js'

export interface ProbeOptions {
  readonly upstream: string
  /** The upstream as its transport reaches it, without retries. */
  readonly memory: Memory
  readonly owners: 'parameter' | 'none'
  /** The same upstream where it is told owners in metadata, and what it was found to lack for that. */
  readonly inMetadata?: { readonly memory: Memory; readonly flaws: () => readonly string[] }
  /** Whether the line to it can carry notifications. */
  readonly line: 'request-reply' | 'two-way'
  /** A name that nobody else has. */
  readonly mark: string
  /** A context for one call of the probe; cancelled when the probe is to stop. */
  readonly context: () => Context
  /** A context for one call of the clearing up after it, which is done all the same. */
  readonly cleaning: () => Context
}

/**
 * Writes marked records to an upstream, tries what it declares, and removes them again, whatever happens in between. One
 * that takes no writes is held to that. Rejects where the upstream cannot be asked at all.
 */
export async function probe(options: ProbeOptions): Promise<ProbeReport> {
  const { memory, context, upstream } = options
  const told = await memory.call('memory/describe', {}, context())
  const findings = new Findings()
  let now = context
  const lab = new Lab({ ...options, told, context: () => now() })
  const readOnly = await isReadOnly(lab)
  const checks = readOnly ? READ_ONLY : planned(told, options, findings)
  const telling = readOnly ? undefined : inMetadata(options, told, () => now())
  const stopped = (await runAll(checks, lab, findings)) || (await telling?.run(findings)) === true
  now = options.cleaning
  const left = readOnly ? undefined : together(await cleanUp(lab), await telling?.cleanUp())
  const { untrue, untried, tried } = findings
  return { upstream, capabilities: told.capabilities, tried, untrue, untried, left, stopped }
}

/** Whether owners can be kept apart by metadata: tried on records of two owners, which are removed again too. */
function inMetadata(
  { inMetadata: kept, ...options }: ProbeOptions,
  told: Description,
  context: () => Context,
) {
  if (kept === undefined) return undefined
  const [memory, mark] = [kept.memory, `${options.mark}-owners`]
  const able = { ...told, capabilities: [...new Set([...told.capabilities, 'scopes'])] }
  const lab = new Lab({ memory, mark, told: able, owners: 'parameter', context })
  const check: Check = async (_, claim) => {
    await probeOwners(lab, claim)
    claim('it can be told owners in metadata', [], kept.flaws())
  }
  return {
    run: (findings: Findings) => runAll([['scopes', check]], lab, findings),
    cleanUp: () => cleanUp(lab),
  }
}

type Left = ProbeReport['left']

function together(one: Left, other: Left): Left {
  if (one === undefined || other === undefined) return one ?? other
  return { ids: [...one.ids, ...other.ids], reason: one.reason }
}

class Findings {
  readonly untrue: Untruth[] = []
  readonly untried: Untried[] = []
  tried = 0

  about(capability: Capability): Claim {
    return (claim, expected, came) => {
      this.tried++
      if (isDeepStrictEqual(expected, came)) return
      this.untrue.push({ capability, claim, expected: shown(expected), came: shown(came) })
    }
  }
}

/** A store that takes no writes refuses even a write of nothing as such (§2.1). */
async function isReadOnly(lab: Lab): Promise<boolean> {
  return (await lab.codeOf('memory/remember', { records: [] })) === CODES.READ_ONLY
}

type Planned = readonly (readonly [Capability, Check])[]

const READ_ONLY: Planned = [['core', refusesAllWrites]]

async function refusesAllWrites(lab: Lab, claim: Claim): Promise<void> {
  const unknown = { ids: [lab.name('unknown')] }
  claim(
    'forget is refused as remember is',
    CODES.READ_ONLY,
    await lab.codeOf('memory/forget', unknown),
  )
  const params = { limit: lab.limit(1) }
  claim('recall is answered all the same', undefined, await lab.codeOf('memory/recall', params))
  claim('timeline is answered all the same', undefined, await lab.codeOf('memory/timeline', params))
}

const CHECKS: { readonly [C in Capability]?: readonly Check[] } = {
  core: [probeItself, ...CORE_CHECKS],
  tiers: TIER_CHECKS,
  salience: [probeSalience],
  scopes: [probeOwners],
  sessions: [probeSessions],
  keys: KEY_CHECKS,
  external: [probeExternal],
  prompt: [probePrompts],
}

function planned(told: Description, { owners, line }: ProbeOptions, findings: Findings): Planned {
  const declared = CAPABILITIES.filter((one) => one === 'core' || told.capabilities.includes(one))
  const leave: Leave = (capability, reason) => {
    findings.untried.push({ capability, reason })
    return []
  }
  return declared.flatMap((capability): Planned => {
    if (capability === 'scopes' && owners === 'none') {
      return leave(capability, 'configured with owner: none')
    }
    if (capability === 'events') return [[capability, eventsOver(line, told)]]
    if (capability === 'embeddings') return vectorChecks(told, leave)
    if (capability === 'summarize') return summaryChecks(told, leave)
    return (CHECKS[capability] ?? []).map((check) => [capability, check] as const)
  })
}

type Leave = (capability: Capability, reason: string) => Planned

/** The first vector would fix the width of a store for good. */
function vectorChecks({ embeddings }: Description, leave: Leave): Planned {
  const width = embeddings?.dimensions
  if (embeddings !== undefined && typeof width !== 'number') {
    return leave('embeddings', 'it holds no vector yet, and the first one would fix its width')
  }
  return [
    [
      'embeddings',
      async (lab, claim) => {
        claim('describe tells of embeddings', true, embeddings !== undefined)
        if (typeof width === 'number') await probeVectors(lab, claim, width)
      },
    ],
  ]
}

function summaryChecks({ summarize }: Description, leave: Leave): Planned {
  if (typeof summarize?.model === 'string') {
    return leave('summarize', `it would ask the model ${summarize.model}`)
  }
  return [
    [
      'summarize',
      async (lab, claim) => {
        claim('describe tells of summarize', true, summarize !== undefined)
        await probeSummaries(lab, claim)
      },
    ],
  ]
}

function eventsOver(line: ProbeOptions['line'], { events }: Description): Check {
  return async (lab, claim) => {
    claim('describe tells of events', 'boolean', typeof events?.push)
    if (line === 'request-reply') claim('push is not promised over HTTP', false, events?.push)
    await probeEvents(lab, claim)
  }
}

/** One after the other; true where it was told to stop. A check that cannot go on says why, and the next one begins. */
async function runAll(checks: Planned, lab: Lab, findings: Findings): Promise<boolean> {
  for (const [capability, check] of checks) {
    try {
      await check(lab, findings.about(capability))
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'cancelled') return true
      if (!(thrown instanceof A2mError || thrown instanceof Fault)) throw thrown
      findings.about(capability)(
        `${lab.asked ?? 'a call'} is answered`,
        'a result',
        toldError(thrown),
      )
    }
  }
  return false
}
