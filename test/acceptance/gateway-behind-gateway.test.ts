import { GATEWAYS, openGatewayBehindGateway } from './subjects/gateways.js'
import { describeMemory } from './suite.js'

describeMemory('a gateway behind a gateway', openGatewayBehindGateway, GATEWAYS)
