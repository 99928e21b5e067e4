import { withContract } from '../../../src/protocol/contract.js'
import { type Context, GATEWAY_ROLE } from '../../../src/protocol/memory.js'
import type { Capability } from '../../../src/protocol/methods.js'
import { systemClock } from '../../../src/protocol/time.js'
import {
  openFederation,
  type TestFederation,
  tierConfig,
  type Upstreams,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { PlainMemory } from '../../support/plain-memory.js'
import { servedStore, TokenUpstreams } from '../../support/token-upstreams.js'
import type { OwnerName, Subject } from '../subject.js'
import { inProcess } from './in-process.js'

/** A federation of three stores over HTTP that know owners by tokens alone; `roles` is what they make of who has one. */
async function openOverTokens(roles: readonly string[]): Promise<Subject> {
  const tokens = await TokenUpstreams.open()
  const store = (name: string, tier: string) =>
    tokens.add(name, { served: servedStore({ path: ':memory:', tiers: [tier] }), roles })
  const upstreams: Upstreams = {
    one: await store('one', 'working'),
    two: await store('two', 'episodic'),
    three: await store('three', 'facts'),
  }
  const opened = await openFederation({
    upstreams,
    tiers: [
      tierConfig('working', 'one', { kind: 'working', capacity: 20, spillTo: 'episodic' }),
      tierConfig('episodic', 'two', { kind: 'episodic' }),
      tierConfig('semantic', 'three', { kind: 'semantic', upstreamTier: 'facts' }),
    ],
  })
  return overTokens(tokens, opened)
}

/** The stores know the gateway for one, and take its extension. */
export const openOverTrustingTokens = () => openOverTokens([GATEWAY_ROLE])

/** The stores know owners and nothing of a gateway, so that they count every record that they are asked for as used. */
export const openOverPlainTokens = () => openOverTokens([])

/** A store that lets in whoever has a token, and then takes no notice of whose it is. */
export async function openOverCarelessTokens(): Promise<Subject> {
  const tokens = await TokenUpstreams.open()
  const capabilities: readonly Capability[] = ['core', 'scopes', 'tiers']
  const careless = new PlainMemory({ capabilities, tiers: TIERS, faults: ['ignores-owner'] })
  const declared = { capabilities: new Set(capabilities), readOnly: false, limits: {} }
  const one = await tokens.add('one', { served: withContract(careless, () => declared) })
  const tiers = TIERS.map((name) => tierConfig(name, 'one', { kind: name }))
  return overTokens(tokens, await openFederation({ upstreams: { one }, tiers }))
}

const TIERS = ['working', 'episodic', 'semantic'] as const
/** As long as a caller over HTTP waits, in ms. */
const PATIENCE = 30_000

function patient(owner: OwnerName): Context {
  return ownerContext(owner, { deadline: systemClock.monotonic() + PATIENCE })
}

/** Once all upstreams have described themselves. */
async function overTokens(tokens: TokenUpstreams, opened: TestFederation): Promise<Subject> {
  await Promise.all(opened.registry.upstreams.map((upstream) => upstream.refresh()))
  return inProcess(opened.federation, patient, async () => {
    await opened.close()
    await tokens.close()
  })
}
