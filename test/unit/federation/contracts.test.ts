import { describe, expect, test } from 'vitest'
import { createContracts } from '../../../src/federation/access/contracts.js'
import type { Parts } from '../../../src/federation/parts.js'
import type { Promised } from '../../../src/federation/promise.js'
import { CODES } from '../../../src/protocol/errors.js'
import type { Capability } from '../../../src/protocol/methods.js'
import { accessBy, granted } from '../../support/grants.js'

function promised(...capabilities: readonly Capability[]): Promised {
  return {
    capabilities: new Set(capabilities),
    readOnly: false,
    limits: {},
    space: undefined,
    withheld: new Map(),
  }
}

/** Parts of which a contract reads what is promised, and how upstreams keep owners. */
function setUp(first: Promised) {
  let now = first
  const layout = { sources: [{ owners: 'apart' }] }
  const parts = { promise: () => now, layout: () => layout } as unknown as Parts
  return {
    contractFor: createContracts(parts),
    promise(next: Promised) {
      now = next
    },
  }
}

const everybody = granted(undefined)

describe('what is promised to a caller', () => {
  test('is the same from call to call', () => {
    const { contractFor } = setUp(promised('core', 'scopes'))
    const context = everybody()
    expect(contractFor(context)).toBe(contractFor({ ...context, deadline: 5 }))
  })

  test('follows what is promised to all, back and forth', () => {
    const scoped = promised('core', 'scopes')
    const { contractFor, promise } = setUp(scoped)
    const context = everybody()
    expect(contractFor(context)).not.toHaveProperty('owners')
    promise(promised('core'))
    expect(contractFor(context).capabilities).toEqual(new Set(['core']))
    expect(contractFor(context).owners).toBe('withheld')
    promise({ ...scoped, readOnly: true })
    expect(contractFor(context)).toMatchObject({ readOnly: true })
    expect(contractFor(context)).not.toHaveProperty('owners')
  })

  test('is that caller’s: another has other roles, or no name', () => {
    const { contractFor } = setUp(promised('core', 'scopes'))
    const reader = granted(accessBy({ access: 'read', methods: new Set(['memory/recall']) }))()
    const nobody = granted(undefined, { kind: 'ownerless' })()
    expect(contractFor(everybody()).denial).toBeUndefined()
    expect(contractFor(reader).readOnly).toBe(true)
    expect(contractFor(reader).denial?.('memory/forget')?.code).toBe(CODES.SCOPE_DENIED)
    expect(contractFor(reader).denial?.('memory/recall')).toBeUndefined()
    expect(contractFor(nobody).capabilities).toEqual(new Set(['core']))
    expect(contractFor(everybody()).capabilities).toEqual(new Set(['core', 'scopes']))
  })
})
