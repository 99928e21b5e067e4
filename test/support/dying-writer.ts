import { randomBytes } from 'node:crypto'
import { createIds } from '../../src/protocol/ids.js'
import { systemClock } from '../../src/protocol/time.js'
import { openStore } from '../../src/stores/store.js'
import { contextWithin } from './contexts.js'

/** Writes batches of 20 records of a group into a store until it is killed, and prints the number of each that was confirmed. */
const [path = ''] = process.argv.slice(2)
const newId = createIds(systemClock.now, randomBytes)
const store = openStore({ path }, { clock: systemClock, newId })
for (let batch = 0; ; batch++) {
  const records = Array.from({ length: 20 }, (_, n) => ({
    content: `note ${n}`,
    group: `b${batch}`,
  }))
  const { ids } = await store.call('memory/remember', { records }, contextWithin(1000))
  if (batch % 3 === 0)
    await store.call('memory/promote', { ids, tier: 'semantic' }, contextWithin(1000))
  process.stdout.write(`${batch}\n`)
}
