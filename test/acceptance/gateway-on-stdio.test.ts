import { GATEWAYS, openDefaultGateway } from './subjects/gateways.js'
import { describeMemory } from './suite.js'

describeMemory('the gateway without a configuration, on stdio', openDefaultGateway, {
  ...GATEWAYS,
  spill: { tier: 'working', capacity: 64, into: 'episodic' },
  owners: 'parameter',
})
