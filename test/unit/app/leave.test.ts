import { describe, expect, test } from 'vitest'
import { auditedLeaves, createLeaves } from '../../../src/app/leave.js'
import type { ElsewhereConfig } from '../../../src/config/versions.js'
import { Denied } from '../../../src/edge/through.js'
import type { Grant } from '../../../src/protocol/access.js'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Caller, Scope } from '../../../src/protocol/memory.js'
import type { AuditEntry } from '../../../src/telemetry/audit-log.js'

const OWN = 'of-the-gateway'
const SERVES: ElsewhereConfig = {
  kind: 'upstream',
  url: 'https://next.internal/',
  bearer: OWN,
  owner: 'parameter',
  audience: 'next',
  connections: 1,
}
const ALL: Scope = { kind: 'all' }
const ANNA: Scope = { kind: 'owners', owners: ['anna'] }
const TWO: Scope = { kind: 'owners', owners: ['anna', 'ben'] }
const NOBODY: Scope = { kind: 'ownerless' }
const FREE: Grant = {
  role: 'free',
  methods: undefined,
  tiers: undefined,
  upstreams: undefined,
  keyPrefixes: undefined,
  access: 'write',
}

const caller = (scope: Scope, access?: readonly Grant[]): Caller => ({
  name: 'c',
  roles: ['r'],
  scope,
  ...(access === undefined ? {} : { access }),
})
const signer = {
  token: (verifier: object, subject: string) => `${JSON.stringify(verifier)} ${subject}`,
}
const shared = { limiter: undefined, metering: undefined }

function leaves(serves: Partial<ElsewhereConfig> = {}) {
  const parts = { name: 'a2m/0.3', serves: { ...SERVES, ...serves }, shared }
  return createLeaves(parts, serves.owner === 'token' ? signer : undefined)
}

const token = (owner: string) => `{"upstream":"version/a2m/0.3","audience":"next"} ${owner}`
const denied = { error: { code: -32005 } }

describe('a server that trusts the gateway for every owner', () => {
  test('is open to callers for every owner alone', async () => {
    expect(await leaves()(caller(ALL))).toEqual({ bearer: OWN })
    expect(await leaves({ bearer: undefined })(caller(ALL))).toEqual({ bearer: undefined })
    for (const scope of [ANNA, TWO, NOBODY]) {
      await expect(leaves()(caller(scope))).rejects.toMatchObject(denied)
    }
  })

  test('is closed to whom every role bounds in anything', async () => {
    const bounds: readonly Partial<Grant>[] = [
      { methods: new Set(['memory/recall'] as const) },
      { tiers: new Set(['semantic']) },
      { upstreams: new Set(['facts']) },
      { keyPrefixes: ['wf'] },
      { access: 'read' },
    ]
    for (const bound of bounds) {
      const bounded = { ...FREE, ...bound }
      await expect(leaves()(caller(ALL, [bounded]))).rejects.toMatchObject(denied)
      expect(await leaves()(caller(ALL, [bounded, FREE]))).toEqual({ bearer: OWN })
    }
    await expect(leaves()(caller(ALL, []))).rejects.toMatchObject(denied)
  })
})

describe('a server that goes by tokens', () => {
  const own = leaves({ owner: 'token' })
  const without = leaves({ owner: 'token', bearer: undefined })

  test('is shown one for the one owner of a caller, never the gateway’s own key', async () => {
    expect(await own(caller(ANNA))).toEqual({ bearer: token('anna') })
    expect(await without(caller(ANNA))).toEqual({ bearer: token('anna') })
    await expect(own(caller(ANNA, [{ ...FREE, access: 'read' }]))).rejects.toMatchObject(denied)
  })

  test('is shown the gateway’s own key for who may act for all, where there is one', async () => {
    expect(await own(caller(ALL))).toEqual({ bearer: OWN })
    await expect(without(caller(ALL))).rejects.toMatchObject(denied)
    for (const scope of [TWO, NOBODY]) {
      await expect(own(caller(scope))).rejects.toMatchObject(denied)
    }
  })
})

test('where only what can be recorded is answered, nothing else is passed on', async () => {
  const refusal = () => new A2mError('INTERNAL_ERROR', 'usage cannot be recorded')
  const shared = { limiter: undefined, metering: { refusal } }
  const parts = { name: 'n', serves: SERVES, shared }
  const asked = createLeaves(parts, undefined)(caller(ALL))
  await expect(asked).rejects.toMatchObject({ error: { code: -32603 } })
})

describe('the audit log', () => {
  function setUp(failing: boolean, onFailure: 'continue' | 'refuse') {
    const lines: AuditEntry[] = []
    const audit = { write: (entry: AuditEntry) => lines.push(entry), failing }
    const options = { audit, mismatch: 'deny', onFailure } as const
    return { lines, leaveFor: auditedLeaves(leaves(), 'a2m/0.3', options) }
  }
  const TRACE = 'a'.repeat(32)
  const who = { trace: TRACE, caller: 'c', roles: ['r'], version: 'a2m/0.3' }

  test('has a line for what is passed on and for what is not', async () => {
    const { lines, leaveFor } = setUp(false, 'refuse')
    await leaveFor(caller(ALL), TRACE)
    await expect(leaveFor(caller(ANNA), TRACE)).rejects.toBeInstanceOf(Denied)
    expect(lines).toEqual([
      { ...who, outcome: 'passed_on' },
      { ...who, outcome: 'refused', code: -32005 },
    ])
  })

  test('names the limit that did not let something through', async () => {
    const lines: AuditEntry[] = []
    const audit = { write: (entry: AuditEntry) => lines.push(entry), failing: false }
    const full = new Denied(new A2mError('QUOTA_EXCEEDED', 'no', { limit: 'daily' }))
    const options = { audit, mismatch: 'deny', onFailure: 'continue' } as const
    const leaveFor = auditedLeaves(() => Promise.reject(full), 'a2m/0.3', options)
    await expect(leaveFor(caller(ALL), TRACE)).rejects.toBe(full)
    expect(lines).toEqual([{ ...who, outcome: 'refused', code: -32006, limit: 'daily' }])
  })

  test('that fails stops what is passed on where it stops writes', async () => {
    await expect(setUp(true, 'refuse').leaveFor(caller(ALL), TRACE)).rejects.toMatchObject({
      error: { code: -32603, data: { outcome: 'not_sent' } },
    })
    expect(await setUp(true, 'continue').leaveFor(caller(ALL), TRACE)).toEqual({ bearer: OWN })
  })
})
