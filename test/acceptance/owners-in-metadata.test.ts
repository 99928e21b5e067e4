import {
  openPlainStoresWithoutOwners,
  openStoresWithoutOwners,
  PLAIN_WITHOUT_OWNERS,
  STORES_WITHOUT_OWNERS,
} from './subjects/owners-in-metadata.js'
import { describeMemory } from './suite.js'

describeMemory(
  'a federation of stores that are told owners in metadata',
  openStoresWithoutOwners,
  STORES_WITHOUT_OWNERS,
)
describeMemory(
  'a federation of stores that can do the least and are told owners in metadata',
  openPlainStoresWithoutOwners,
  PLAIN_WITHOUT_OWNERS,
)
