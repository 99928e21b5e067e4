import { expect, test } from 'vitest'
import { Fault } from '../../../src/protocol/errors.js'
import { withPartialCount } from '../../../src/telemetry/partial-metrics.js'
import { openFederation } from '../../support/federation.js'
import { anyContext } from '../../support/federation-contexts.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

test('an answer that says that it is partial is counted by its method, a whole one is not', async () => {
  const two = new Faulty(new PlainMemory())
  const upstreams = { one: { memory: new PlainMemory() }, two: { memory: two } }
  const { federation, close } = await openFederation({ upstreams })
  const counted: string[] = []
  const served = withPartialCount(federation, (method) => counted.push(method))
  await served.call('memory/recall', { query: 'a' }, anyContext())
  await served.call('memory/describe', {}, anyContext())
  expect(counted).toEqual([])
  two.fault = () => new Fault('unreachable', 'gone')
  await served.call('memory/recall', { query: 'a' }, anyContext())
  await served.call('memory/timeline', {}, anyContext())
  expect(counted).toEqual(['memory/recall', 'memory/timeline'])
  await close()
})
