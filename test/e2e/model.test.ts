import { expect, test } from 'vitest'
import { emptyFolder } from '../support/gateway-process.js'
import { Walk } from '../support/model/walk.js'

const OPERATIONS = 2_000
/** Another seed is another walk. When a crash comes is chance in any case. */
const SEED = 1

test('a gateway over four stores does what a model of one memory does', {
  timeout: 600_000,
}, async () => {
  const walk = await Walk.begin(SEED, emptyFolder())
  for (let done = 0; done < OPERATIONS; done++) await walk.step()
  await walk.settled()
  expect(await walk.stop()).toBe(0)
})
