import { GATEWAYS, openGatewayTellingOwners } from './subjects/gateways.js'
import { describeMemory } from './suite.js'

describeMemory(
  'a gateway that tells owners in metadata to stores over HTTP without a token',
  openGatewayTellingOwners,
  { ...GATEWAYS, use: 'as given' },
)
