import { STORE } from './subjects/store.js'
import { openStoreOverStdio } from './subjects/store-process.js'
import { describeMemory } from './suite.js'

describeMemory('a store on stdio', openStoreOverStdio, {
  ...STORE,
  capabilities: [...STORE.capabilities, 'summarize', 'prompt'],
  owners: 'parameter',
})
