import type { GatewayReport } from '../app/overview.js'
import type { Report, TierReport, UpstreamReport } from '../app/report.js'
import { DEFAULT_FEDERATION } from '../config/versions.js'
import { CAPABILITIES, type Capability } from '../protocol/methods.js'
import { quotaLines } from './check-quotas.js'
import { versionLines } from './check-versions.js'
import { heading } from './heading.js'
import { type Cell, table } from './table.js'
import type { Colours } from './terminal.js'

/** What `check` prints: the versions, what each federation amounts to, what is wrong. */
export function printReport(report: GatewayReport, colours: Colours): readonly string[] {
  const found = problems(report)
  const { federations } = report
  const quotas = quotaLines(report.quotas, colours)
  return [
    ...versionLines(report.versions, colours),
    ...federations.flatMap((one) => [
      ...(federations.length > 1 ? [colours.bold(`federation ${one.federation}`), ''] : []),
      ...federationLines(one, colours),
      ...tokenLines(one, report.issuer),
      ...(federations.length > 1 || quotas.length > 0 ? [''] : []),
    ]),
    ...quotas,
    ...found.map((problem) => `${colours.red('wrong:')} ${problem}`),
    ...(found.length === 0 ? [colours.green('All is well.')] : []),
  ]
}

/** The upstreams, who can what and what is declared of it, where the tiers are. */
function federationLines(report: Report, colours: Colours): readonly string[] {
  return [
    ...table(upstreamRows(report, colours)),
    '',
    ...table(capabilityRows(report, colours)),
    '',
    ...table(tierRows(report, colours)),
    '',
    ...(report.readOnly ? ['The gateway takes no writes.'] : []),
    `Limits that upstreams declare: ${limits(report)}`,
  ]
}

/** What an upstream that goes by tokens has to be told. */
function tokenLines({ upstreams }: Report, issuer: string | undefined): readonly string[] {
  return upstreams.flatMap(({ name, audience }) =>
    audience === undefined
      ? []
      : [
          `Tokens for ${name}: issuer ${issuer}, audience ${audience}, keys at /.well-known/jwks.json of the gateway.`,
        ],
  )
}

/** What has to be mended: what federations say, and every upstream that cannot be asked. */
export function problems({ federations, problems: own }: GatewayReport): readonly string[] {
  const theirs = federations.flatMap(({ federation, ...report }) => {
    const where = federation === DEFAULT_FEDERATION ? '' : `federation ${federation}: `
    return problemsOf(report).map((problem) => where + problem)
  })
  return [...own, ...theirs]
}

function problemsOf({ problems: own, upstreams }: Report): readonly string[] {
  const out = upstreams
    .filter(({ state }) => state !== 'up')
    .map(({ name, state, reason }) => `upstream ${name} is ${state}${reason ? `: ${reason}` : ''}`)
  return [...own, ...out]
}

/** The same for programs: sets and maps become lists and objects. The first federation is at the top, `federations` the others. */
export function reportJson(report: GatewayReport): string {
  const { versions, federations, issuer, quotas } = report
  const [first, ...others] = federations
  const found = problems(report)
  const rest = others.length === 0 ? {} : { federations: others }
  return JSON.stringify(
    { ok: found.length === 0, versions, issuer, quotas, ...first, problems: found, ...rest },
    (_, value: unknown) => {
      if (value instanceof Set) return [...value]
      return value instanceof Map ? Object.fromEntries(value) : value
    },
    2,
  )
}

function upstreamRows({ upstreams }: Report, colours: Colours): Cell[][] {
  return [
    heading(['upstream', 'state', 'speaks', 'writes', 'owner', 'tiers'], colours),
    ...upstreams.map((upstream) => upstreamRow(upstream, colours)),
  ]
}

function upstreamRow(upstream: UpstreamReport, { green, red }: Colours): Cell[] {
  const { name, state, protocol, readOnly, tiers } = upstream
  return [
    name,
    { text: state, paint: state === 'up' ? green : red },
    protocol ?? '?',
    readOnly === undefined ? '?' : readOnly ? 'no' : 'yes',
    ownersAt(upstream),
    tiers?.join(', ') ?? '?',
  ]
}

/** How owners reach an upstream; where the configuration does not say, they do if it declares scopes. */
function ownersAt({ owner, capabilities }: UpstreamReport): string {
  if (owner !== undefined) return owner
  if (capabilities === undefined) return '?'
  return capabilities.has('scopes') ? 'parameter' : 'none'
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

function why(report: Report, capability: Capability): string {
  const reasons = report.withheld.get(capability) ?? []
  return reasons.map((reason) => briefly(reason, report)).join('; ')
}

/** Why an upstream is not there stands once, among the problems. */
function briefly(text: string, { upstreams }: Report): string {
  const gone = upstreams.find(
    ({ name, state, reason }) =>
      state !== 'up' && reason && text.includes(name) && text.endsWith(`: ${reason}`),
  )
  return gone === undefined ? text : `upstream ${gone.name} is ${gone.state}`
}

function tierRows(report: Report, colours: Colours): Cell[][] {
  return [
    heading(['tier', 'kind', 'writes go to', 'is also read from'], colours),
    ...report.tiers.map(({ name, kind, home, homeless = '', also }: TierReport): Cell[] => [
      name,
      kind ?? '-',
      home ?? { text: `nowhere: ${briefly(homeless, report)}`, paint: colours.yellow },
      also.join(', '),
    ]),
  ]
}

function limits({ limits }: Report): string {
  const known = Object.entries(limits).map(([name, value]) => `${name} ${value}`)
  return known.length === 0 ? 'none' : known.join(', ')
}
