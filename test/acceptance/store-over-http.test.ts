import { STORE } from './subjects/store.js'
import { openStoreOverHttp } from './subjects/store-process.js'
import { describeMemory } from './suite.js'

const TOKEN = 'token-of-the-acceptance-suite'

describeMemory('a store over HTTP with a token', () => openStoreOverHttp(TOKEN), {
  ...STORE,
  capabilities: [...STORE.capabilities, 'summarize', 'prompt'],
  owners: 'parameter',
})

describeMemory('a store over HTTP without one', () => openStoreOverHttp(), {
  ...STORE,
  capabilities: ['core', 'tiers', 'summarize', 'prompt'],
  owners: undefined,
})
