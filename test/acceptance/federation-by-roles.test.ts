import { FEDERATION } from './subjects/federation.js'
import { openFederationByRoles } from './subjects/federation-by-roles.js'
import { describeMemory } from './suite.js'

describeMemory('a federation of which a part is hidden', openFederationByRoles, FEDERATION)
