import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide } from '../../../src/app/can.js'
import { loadConfig } from '../../../src/config/load.js'
import { callerOf, type Person } from '../../../src/identity/caller.js'
import { createAccessOf } from '../../../src/identity/roles.js'
import { checkParams } from '../../../src/protocol/checks.js'
import { CODES } from '../../../src/protocol/errors.js'
import { isMethod, METHOD_NAMES } from '../../../src/protocol/methods.js'
import { type Served, serve } from '../../../src/protocol/serve.js'
import { embeddedStore, openFederation, tierConfig } from '../../support/federation.js'
import { anyContext, contextOf } from '../../support/federation-contexts.js'

const TIERS = ['notes', 'facts', 'hidden']
const KEYS = ['wf', 'wf/1', 'user']
const some = (...all: string[]) => fc.option(fc.subarray(all, { minLength: 1 }), { nil: undefined })
const anyRole = fc.record({
  methods: some(...METHOD_NAMES.filter((name) => !name.startsWith('memory/events/'))),
  tiers: some(...TIERS),
  upstreams: some('a', 'b'),
  key_prefixes: some(...KEYS),
  access: fc.constantFrom('read', 'write'),
})
const tier = fc.option(fc.constantFrom(...TIERS, 'nowhere'), { nil: undefined })
const key = fc.option(fc.constantFrom(...KEYS, 'wf/1/x', 'wf/10'), { nil: undefined })
const owner = fc.option(fc.constantFrom('ann', 'bob'), { nil: undefined })
const calls = fc.oneof(
  fc.record({
    method: fc.constant('memory/remember'),
    params: fc.record({
      records: fc.array(fc.record({ content: fc.constant('x'), tier, key }), {
        minLength: 1,
        maxLength: 2,
      }),
      owner,
    }),
  }),
  fc.record({
    method: fc.constantFrom('memory/recall', 'memory/timeline', 'memory/forget'),
    params: fc.record({ query: fc.constant('x'), tier, key_prefix: key, owner }),
  }),
  fc.record({
    method: fc.constantFrom(
      'memory/consolidate',
      'memory/describe',
      'memory/session/list',
      'memory/events',
    ),
    params: fc.constant({}),
  }),
  fc.record({
    method: fc.constant('memory/promote'),
    params: fc.record({ ids: fc.constant(['a']), tier: fc.constantFrom(...TIERS, 'nowhere') }),
  }),
)

const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as object

/** Contradictions within one role are refused when the file is read. */
function configOf(roles: readonly object[]) {
  const named = Object.fromEntries(roles.map((role, index) => [`role${index}`, role]))
  const text = JSON.stringify({
    roles: named,
    auth: {
      keys: [{ name: 'ann', owner: 'ann', sha256: 'a'.repeat(64), roles: Object.keys(named) }],
    },
    upstreams: { a: { store: 'sqlite', path: 'a.db' }, b: { store: 'sqlite', path: 'b.db' } },
    tiers: { notes: { upstream: 'a' }, facts: { upstream: 'b' }, hidden: { upstream: 'b' } },
  })
  try {
    return loadConfig({ text, file: 'gateway.yaml', env: {}, cwd: '/' })
  } catch {
    return undefined
  }
}

const DECIDED: readonly number[] = [CODES.UNKNOWN_TIER, CODES.READ_ONLY, CODES.SCOPE_DENIED]

/** A key that stands where a caller may not write is refused too, which roles alone do not tell. */
async function empty(federation: Served): Promise<void> {
  for (const tier of TIERS) await federation.call('memory/forget', { tier }, anyContext())
}

test('what is said of a call is what a gateway decides of it', async () => {
  const opened = await openFederation({
    upstreams: {
      a: { memory: embeddedStore({ path: ':memory:', tiers: ['notes'] }) },
      b: { memory: embeddedStore({ path: ':memory:', tiers: ['facts', 'hidden'] }) },
    },
    tiers: [tierConfig('notes', 'a'), tierConfig('facts', 'b'), tierConfig('hidden', 'b')],
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRole, { minLength: 1, maxLength: 2 }),
      calls,
      async (roles, call) => {
        const config = configOf(roles)
        const [person] = config?.auth?.keys ?? []
        if (config === undefined || person === undefined || !isMethod(call.method)) return
        const { method } = call
        const params = checkParams(method, json(call.params))
        const { error } = await decide(config, { person, method, params })
        const caller = callerOf(person satisfies Person, createAccessOf(config.roles))
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: call.params })
        const answer = await serve(text, opened.federation, contextOf(caller.scope, { caller }))
        const code = answer.error?.code
        await empty(opened.federation)
        expect(code !== undefined && DECIDED.includes(code) ? code : undefined).toBe(error?.code)
      },
    ),
    { numRuns: 150 },
  )
  await opened.close()
})
