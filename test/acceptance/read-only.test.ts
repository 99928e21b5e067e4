import { CAPABILITIES } from '../../src/protocol/methods.js'
import { describeReadOnlyMemory } from './read-only.js'
import {
  openReadOnlyFederation,
  openReadOnlyStore,
  openReadOnlyStoreOverHttp,
} from './subjects/read-only.js'
import { STORE } from './subjects/store.js'
import { STORE_PROGRAM } from './subjects/store-process.js'

describeReadOnlyMemory('a read-only store in this process', openReadOnlyStore, STORE)
describeReadOnlyMemory('a read-only store over HTTP', openReadOnlyStoreOverHttp, STORE_PROGRAM)
describeReadOnlyMemory('a federation of read-only stores', openReadOnlyFederation, {
  ...STORE,
  capabilities: CAPABILITIES,
})
