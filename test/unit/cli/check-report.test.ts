import pico from 'picocolors'
import { expect, test } from 'vitest'
import type { GatewayReport, VersionReport } from '../../../src/app/overview.js'
import type { Report } from '../../../src/app/report.js'
import { printReport, problems, reportJson } from '../../../src/cli/check-report.js'
import { CAPABILITIES } from '../../../src/protocol/methods.js'

const HOMELESS = 'its upstream archive cannot be used: connection refused'
const REPORT: Report = {
  name: 'acme',
  capabilities: new Set(['core', 'tiers'] as const),
  readOnly: false,
  limits: { max_recall_limit: 50 },
  space: undefined,
  withheld: new Map(
    CAPABILITIES.slice(2).map((name) => [
      name,
      name === 'scopes'
        ? ['facts: does not declare scopes', 'archive: connection refused']
        : ['not offered'],
    ]),
  ),
  problems: ['tiers.skills: upstream facts has no tier "skills"'],
  tiers: [
    { name: 'semantic', kind: 'semantic', home: 'facts', homeless: undefined, also: ['archive'] },
    { name: 'skills', kind: undefined, home: undefined, homeless: 'no such tier', also: [] },
    { name: 'old', kind: undefined, home: undefined, homeless: HOMELESS, also: [] },
  ],
  upstreams: [
    {
      name: 'facts',
      state: 'up',
      reason: undefined,
      protocol: 'a2m/0.1',
      capabilities: new Set(['core', 'tiers']),
      embeddings: undefined,
      readOnly: false,
      tiers: ['semantic'],
      owner: 'token',
      audience: 'https://facts.internal',
    },
    {
      name: 'archive',
      state: 'unread',
      reason: 'connection refused',
      protocol: undefined,
      capabilities: undefined,
      embeddings: undefined,
      readOnly: undefined,
      tiers: undefined,
      owner: undefined,
      audience: undefined,
    },
  ],
}

const VERSION: VersionReport = {
  name: 'a2m/0.1',
  default: true,
  servedBy: { federation: 'default' },
  deprecated: undefined,
  sunset: undefined,
}

/** A gateway of one federation and one version, as it is without a word of versions. */
function alone(report: Report): GatewayReport {
  const federations = [{ federation: 'default', ...report }]
  const issuer = 'https://acme.example'
  return { versions: [VERSION], federations, issuer, quotas: [], problems: [] }
}

test('upstreams are columns, capabilities rows, and every no has its reason', () => {
  const lines = printReport(alone(REPORT), pico.createColors(false))
  expect(lines).toEqual([
    'upstream  state   speaks   writes  owner  tiers',
    'facts     up      a2m/0.1  yes     token  semantic',
    'archive   unread  ?        ?       ?      ?',
    '',
    'capability  facts  archive  declared',
    'core        yes    ?        yes',
    'tiers       yes    ?        yes',
    'salience    -      ?        no: not offered',
    'scopes      -      ?        no: facts: does not declare scopes; upstream archive is unread',
    'sessions    -      ?        no: not offered',
    'keys        -      ?        no: not offered',
    'embeddings  -      ?        no: not offered',
    'external    -      ?        no: not offered',
    'events      -      ?        no: not offered',
    'summarize   -      ?        no: not offered',
    'prompt      -      ?        no: not offered',
    '',
    'tier      kind      writes go to                         is also read from',
    'semantic  semantic  facts                                archive',
    'skills    -         nowhere: no such tier',
    'old       -         nowhere: upstream archive is unread',
    '',
    'Limits that upstreams declare: max_recall_limit 50',
    'Tokens for facts: issuer https://acme.example, audience https://facts.internal, keys at /.well-known/jwks.json of the gateway.',
    'wrong: tiers.skills: upstream facts has no tier "skills"',
    'wrong: upstream archive is unread: connection refused',
  ])
})

test('how vectors are compared stands where it is said that they are', () => {
  const [facts, archive] = REPORT.upstreams
  if (facts === undefined || archive === undefined) throw new Error('the report lost an upstream')
  const embeddings = { dimensions: null, metric: 'dot', metrics: ['dot'], model: undefined }
  const keeps = new Set(['core', 'embeddings'])
  const report: Report = {
    ...REPORT,
    capabilities: new Set(['core', 'embeddings'] as const),
    space: { dimensions: 768, metric: 'dot', metrics: ['dot'], model: 'minilm' },
    upstreams: [
      { ...facts, capabilities: keeps, embeddings },
      { ...archive, capabilities: keeps },
    ],
  }
  expect(printReport(alone(report), pico.createColors(false))).toContain(
    'embeddings  dot, any width  not told how  yes: dot, 768, minilm',
  )
})

test('colours change no width', () => {
  const coloured = printReport(alone(REPORT), pico.createColors(true)).join('\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of.
  const plain = coloured.replace(/\u001b\[\d+m/g, '')
  expect(coloured).not.toBe(plain)
  expect(plain).toBe(printReport(alone(REPORT), pico.createColors(false)).join('\n'))
})

test('the limits on callers are a table', () => {
  const rest = { soft: undefined, callers: undefined, roles: undefined, owners: undefined }
  const more = { ...rest, methods: undefined, mode: 'enforce' } as const
  const calls = { ...more, name: 'calls', of: 'calls', per: 'caller', limit: 600 } as const
  const quotas: GatewayReport['quotas'] = [
    { ...calls, window: 60_000, roles: ['agent'], methods: ['memory/recall'] },
    { ...calls, name: 'week', window: 604_800_000, mode: 'shadow' },
    { ...calls, name: 'bill', window: 'month' },
    { ...calls, name: 'stock', of: 'stock', per: 'owner', window: undefined },
  ]
  const lines = printReport({ ...alone(REPORT), quotas }, pico.createColors(false))
  expect(lines.slice(lines.findIndex((line) => line.startsWith('quota')) - 1)).toEqual([
    '',
    'quota  of     per     window  limit  shadow  only for',
    'calls  calls  caller  minute  600    -       roles agent; methods memory/recall',
    'week   calls  caller  7d      600    yes',
    'bill   calls  caller  month   600    -',
    'stock  stock  owner   -       600    -',
    '',
    'wrong: tiers.skills: upstream facts has no tier "skills"',
    'wrong: upstream archive is unread: connection refused',
  ])
})

test('a gateway without a fault says so', () => {
  const { upstreams } = REPORT
  const good = { ...REPORT, problems: [], upstreams: upstreams.slice(0, 1) }
  expect(problems(alone(good))).toEqual([])
  expect(printReport(alone(good), pico.createColors(false)).at(-1)).toBe('All is well.')
})

test('programs get the same', () => {
  expect(JSON.parse(reportJson(alone(REPORT)))).toMatchObject({
    ok: false,
    capabilities: ['core', 'tiers'],
    withheld: { prompt: ['not offered'] },
    problems: [expect.anything(), 'upstream archive is unread: connection refused'],
    upstreams: [{ name: 'facts', capabilities: ['core', 'tiers'] }, { name: 'archive' }],
  })
})
