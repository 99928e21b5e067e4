import { JsonText } from '../../../src/protocol/json.js'
import { CAPABILITIES } from '../../../src/protocol/methods.js'
import {
  embeddedStore,
  openFederation,
  tierConfig,
  type Upstreams,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { ownersInMetadata } from '../../support/owner-metadata.js'
import { PlainMemory, type PlainOptions } from '../../support/plain-memory.js'
import type { Open, Subject, Traits } from '../subject.js'
import { FEDERATION } from './federation.js'
import { GATEWAYS, openGateway } from './gateways.js'
import { inProcess } from './in-process.js'
import { openOverCarelessTokens, openOverPlainTokens, openOverTrustingTokens } from './tokens.js'

/** One way in which a caller's owner reaches upstreams. Two callers must be kept apart in each. */
export interface OwnerMode {
  readonly name: string
  readonly open: Open
  readonly traits: Traits
  /** Contents of records that belong to nobody and that everyone reads. */
  readonly common?: ReadonlySet<string>
}

const TIERS = ['working', 'episodic', 'semantic'] as const
const APART: Traits = { capabilities: CAPABILITIES, tiers: TIERS, owners: 'principal' }
const COMMON = 'apple and pear for everybody'

/** Add a row for each way, and one for each way in which an upstream may fail it. */
export const OWNER_MODES: readonly OwnerMode[] = [
  { name: 'parameter', open: openGateway, traits: GATEWAYS },
  {
    name: 'parameter, to an upstream that ignores it',
    open: () => openOver({ one: plain({ faults: ['ignores-owner'] }) }),
    traits: APART,
  },
  {
    name: 'metadata',
    open: () => openOver({ one: inMetadata({}) }),
    traits: APART,
  },
  {
    name: 'metadata, to an upstream that says it keeps owners and does not',
    open: () =>
      openOver({
        one: inMetadata({ capabilities: ['core', 'scopes', 'tiers'], faults: ['ignores-owner'] }),
      }),
    traits: APART,
  },
  {
    name: 'metadata, to an upstream that ignores where',
    open: () =>
      openOver({ one: inMetadata({ faults: ['ignores-where', 'ignores-where-on-timeline'] }) }),
    traits: APART,
  },
  { name: 'token, to stores that know gateways', open: openOverTrustingTokens, traits: FEDERATION },
  {
    name: 'token, to stores that know owners alone',
    open: openOverPlainTokens,
    traits: FEDERATION,
  },
  {
    name: 'token, to a store that takes no notice of whose it is',
    open: openOverCarelessTokens,
    traits: APART,
  },
  {
    name: 'none, where everyone reads what nobody owns',
    open: openBesideCommonGround,
    traits: APART,
    common: new Set([COMMON]),
  },
]

type UpstreamSetup = Upstreams[string]

/** A store of somebody else's that says that it keeps owners apart. */
function plain(options: PlainOptions): UpstreamSetup {
  const capabilities = ['core', 'scopes', 'tiers']
  return { memory: new PlainMemory({ capabilities, tiers: TIERS, ...options }) }
}

/** One that knows no owners, and is told them in metadata. */
function inMetadata(options: PlainOptions): UpstreamSetup {
  const memory = new PlainMemory({ capabilities: ['core', 'tiers'], tiers: TIERS, ...options })
  return { ...ownersInMetadata(memory), config: { owner: 'metadata' } }
}

/** A federation in this process whose tiers are all at the upstream `one`; any other is read for them besides. */
async function openOver(upstreams: Upstreams): Promise<Subject> {
  const also = Object.keys(upstreams).filter((name) => name !== 'one')
  const tiers = TIERS.map((name) => tierConfig(name, 'one', { kind: name, also }))
  const opened = await openFederation({ upstreams, tiers })
  return inProcess(opened.federation, ownerContext, () => opened.close())
}

async function openBesideCommonGround(): Promise<Subject> {
  const common = new PlainMemory({ capabilities: ['core', 'tiers'], tiers: TIERS })
  const metadata = JsonText.of({ common: true })
  common.records.push({
    ...{ id: 'one', content: COMMON, tier: 'episodic', metadata },
    created_at: '2026-01-01T00:00:00.000Z',
  })
  return openOver({
    one: { memory: embeddedStore({ path: ':memory:', tiers: [...TIERS] }) },
    common: { memory: common, config: { access: 'read-only', owner: 'none' } },
  })
}
