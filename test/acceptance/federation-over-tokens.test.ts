import { FEDERATION } from './subjects/federation.js'
import { openOverTrustingTokens } from './subjects/tokens.js'
import { describeMemory } from './suite.js'

describeMemory('a federation over tokens', openOverTrustingTokens, FEDERATION)
