import { expect, test } from 'vitest'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { createScrub } from '../../../src/telemetry/logs.js'
import { withDiscretion } from '../../../src/upstreams/with-discretion.js'
import { contextWithin } from '../../support/contexts.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

const SECRET = 'token-of-the-gateway'
const fault = new Fault('cut', 'the connection ended')

test.each([
  [
    'an error that repeats the credential',
    new A2mError('INVALID_PARAMS', `no ${SECRET}`, { got: SECRET }),
    new A2mError('INVALID_PARAMS', 'no [redacted]'),
  ],
  ['a fault', fault, fault],
])('%s', async (_, thrown, told) => {
  const faulty = new Faulty(new PlainMemory())
  faulty.fault = () => thrown
  const memory = withDiscretion(faulty, createScrub([SECRET]))
  const caught = await memory.call('memory/recall', {}, contextWithin(1000)).catch((error) => error)
  expect(caught).toEqual(told)
  expect(caught.data).toBeUndefined()
})
