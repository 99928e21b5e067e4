import { openStoreOverHttp, STORE_PROGRAM } from './subjects/store-process.js'
import { describeMemory } from './suite.js'

const TOKEN = 'token-of-the-acceptance-suite'

describeMemory('a store over HTTP with a token', () => openStoreOverHttp(TOKEN), STORE_PROGRAM)

describeMemory('a store over HTTP without one', () => openStoreOverHttp(), {
  ...STORE_PROGRAM,
  capabilities: STORE_PROGRAM.capabilities.filter((capability) => capability !== 'scopes'),
  owners: undefined,
})
