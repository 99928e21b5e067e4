import { GATEWAYS, openMixedGateway } from './subjects/gateways.js'
import { describeMemory } from './suite.js'

describeMemory(
  'a gateway over stores in process, over HTTP and on stdio',
  openMixedGateway,
  GATEWAYS,
)
