import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { GATEWAY_ROLE, type Memory } from '../../../src/protocol/memory.js'
import type { Description } from '../../../src/protocol/methods.js'
import { withScope } from '../../../src/protocol/scope.js'
import { contextWithin } from '../../support/contexts.js'

const DESCRIPTION: Description = {
  protocol: 'a2m/0.1',
  name: 'store',
  capabilities: ['core'],
  methods: [],
  [EXTENSION]: { version: 1 },
}
const context = contextWithin(1000)
const describing = {
  call: async () => DESCRIPTION,
  close: async () => {},
} as unknown as Memory

async function extensionFor(roles: readonly string[]): Promise<unknown> {
  const caller = { ...context.caller, roles }
  const told = await withScope(describing, 'deny').call(
    'memory/describe',
    {},
    { ...context, caller },
  )
  expect(told.name).toBe('store')
  return told[EXTENSION]
}

test('the extension is promised to a gateway', async () => {
  expect(await extensionFor(['agent', GATEWAY_ROLE])).toEqual({ version: 1 })
})

test('and to nobody else, from whom it would not be taken', async () => {
  expect(await extensionFor(['agent'])).toBeUndefined()
})
