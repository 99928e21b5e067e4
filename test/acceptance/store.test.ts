import { openStoreHere, STORE } from './subjects/store.js'
import { describeMemory } from './suite.js'

describeMemory('a built-in store in this process', openStoreHere, STORE)
