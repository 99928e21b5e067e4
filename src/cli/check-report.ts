import type { Report, TierReport, UpstreamReport } from '../app/report.js'
import { CAPABILITIES, type Capability } from '../protocol/methods.js'
import { type Cell, table } from './table.js'
import type { Colours } from './terminal.js'

/** What `check` prints: the upstreams, who can what and what is declared of it, where the tiers are, what is wrong. */
export function printReport(report: Report, colours: Colours): readonly string[] {
  const found = problems(report)
  return [
    ...table(upstreamRows(report, colours)),
    '',
    ...table(capabilityRows(report, colours)),
    '',
    ...table(tierRows(report, colours)),
    '',
    report.readOnly ? 'The gateway takes no writes.' : `Writes: ${limits(report)}`,
    ...found.map((problem) => `${colours.red('wrong:')} ${problem}`),
    ...(found.length === 0 ? [colours.green('All is well.')] : []),
  ]
}

/** What has to be mended: what the federation says, and every upstream that cannot be asked. */
export function problems({ problems: own, upstreams }: Report): readonly string[] {
  const out = upstreams
    .filter(({ state }) => state !== 'up')
    .map(({ name, state, reason }) => `upstream ${name} is ${state}${reason ? `: ${reason}` : ''}`)
  return [...own, ...out]
}

/** The same for programs: sets and maps become lists and objects. */
export function reportJson(report: Report): string {
  return JSON.stringify(
    { ok: problems(report).length === 0, ...report, problems: problems(report) },
    (_, value: unknown) => {
      if (value instanceof Set) return [...value]
      return value instanceof Map ? Object.fromEntries(value) : value
    },
    2,
  )
}

function heading(names: readonly string[], { bold }: Colours): Cell[] {
  return names.map((text) => ({ text, paint: bold }))
}

function upstreamRows({ upstreams }: Report, colours: Colours): Cell[][] {
  return [
    heading(['upstream', 'state', 'speaks', 'writes', 'tiers'], colours),
    ...upstreams.map(({ name, state, protocol, readOnly, tiers }): Cell[] => [
      name,
      { text: state, paint: state === 'up' ? colours.green : colours.red },
      protocol ?? '?',
      readOnly === undefined ? '?' : readOnly ? 'no' : 'yes',
      tiers?.join(', ') ?? '?',
    ]),
  ]
}

function capabilityRows(report: Report, colours: Colours): Cell[][] {
  const { upstreams, capabilities } = report
  return [
    heading(['capability', ...upstreams.map(({ name }) => name), 'declared'], colours),
    ...CAPABILITIES.map((capability): Cell[] => [
      capability,
      ...upstreams.map((upstream) => has(upstream, capability)),
      capabilities.has(capability)
        ? { text: declared(report, capability), paint: colours.green }
        : { text: `no: ${why(report, capability)}`, paint: colours.dim },
    ]),
  ]
}

function has({ capabilities, embeddings }: UpstreamReport, capability: Capability): string {
  if (capabilities === undefined) return '?'
  if (!capabilities.has(capability)) return '-'
  return capability === 'embeddings' ? vectors(embeddings) : 'yes'
}

function declared({ space }: Report, capability: Capability): string {
  return capability === 'embeddings' ? `yes: ${vectors(space)}` : 'yes'
}

/** How vectors are compared, how many numbers each has where that is fixed, and of which model they are where it is named. */
function vectors(told: UpstreamReport['embeddings'] | Report['space']): string {
  if (told === undefined) return 'not told how'
  const { metric, dimensions, model } = told
  return [metric, dimensions ?? 'any width', ...(model === undefined ? [] : [model])].join(', ')
}

function why({ withheld }: Report, capability: Capability): string {
  return withheld.get(capability)?.join('; ') ?? ''
}

function tierRows({ tiers }: Report, colours: Colours): Cell[][] {
  return [
    heading(['tier', 'kind', 'writes go to', 'is also read from'], colours),
    ...tiers.map(({ name, kind, home, homeless, also }: TierReport): Cell[] => [
      name,
      kind ?? '-',
      home ?? { text: `nowhere: ${homeless ?? ''}`, paint: colours.yellow },
      also.join(', '),
    ]),
  ]
}

function limits({ limits }: Report): string {
  const known = Object.entries(limits).map(([name, value]) => `${name} ${value}`)
  return known.length === 0 ? 'no limits' : known.join(', ')
}
