import type { Traits } from './subject.js'
import { GATEWAYS, openDefaultGateway } from './subjects/gateways.js'
import { describeMemory } from './suite.js'

/** Its caller may act for every owner, and does so where a method has no owner: nobody is kept from anybody here. */
const EVERYONE: Traits = {
  capabilities: GATEWAYS.capabilities,
  tiers: GATEWAYS.tiers,
  owners: undefined,
}

describeMemory('the gateway without a configuration, on stdio', openDefaultGateway, EVERYONE)
