import { GATEWAYS, openGateway } from './subjects/gateways.js'
import { describeMemory } from './suite.js'

describeMemory('a gateway over HTTP', openGateway, GATEWAYS)
