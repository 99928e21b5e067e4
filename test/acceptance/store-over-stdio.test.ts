import { openStoreOverStdio, STORE_PROGRAM } from './subjects/store-process.js'
import { describeMemory } from './suite.js'

describeMemory('a store on stdio', openStoreOverStdio, STORE_PROGRAM)
