import { FEDERATION, openFederationHere } from './subjects/federation.js'
import { describeMemory } from './suite.js'

describeMemory('a federation of three', openFederationHere, FEDERATION)
