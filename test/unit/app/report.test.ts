import { describe, expect, test } from 'vitest'
import { profileForAnyone, refuseTwinTiers, reportOf } from '../../../src/app/report.js'
import { loadConfig } from '../../../src/config/load.js'
import type { Federation } from '../../../src/federation/federation.js'
import { layOut } from '../../../src/federation/layout.js'
import { promise } from '../../../src/federation/promise.js'
import type { Capability } from '../../../src/protocol/methods.js'

type Told = ReturnType<Federation['report']>

const load = (text: string) => loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/srv' })
const UPSTREAMS =
  'upstreams: { a: { store: sqlite, path: a.db }, b: { store: sqlite, path: b.db } }\n'
const AUTH = `auth: { keys: [{ name: a, owner: a, sha256: "${'a'.repeat(64)}" }] }\n`

/** A federation whose upstreams have not said anything. */
function told(problems: readonly string[] = []): Told {
  const layout = layOut(load(UPSTREAMS).federation, [])
  return {
    layout: { ...layout, problems },
    promised: {
      ...promise(layout),
      capabilities: new Set<Capability>(['core', 'tiers', 'scopes']),
    },
    registry: {
      upstreams: [],
      revision: () => 0,
      settled: async () => {},
      close: async () => {},
    },
  }
}

describe('scopes', () => {
  const profile = { protocol: 'a2m/0.1', name: 'x', capabilities: [], methods: [] }

  test('are not spoken of over HTTP where nobody is known', () => {
    const config = load(UPSTREAMS)
    expect(reportOf(config, told()).capabilities.has('scopes')).toBe(false)
    expect(reportOf(config, told()).withheld.get('scopes')).toEqual([
      expect.stringContaining('auth.keys'),
    ])
    expect(profileForAnyone(profile, config, told())).toMatchObject({
      capabilities: ['core', 'tiers'],
      methods: expect.not.arrayContaining(['memory/fetch']),
    })
  })

  test('are declared where callers have keys', () => {
    const config = load(UPSTREAMS + AUTH)
    expect(reportOf(config, told()).capabilities.has('scopes')).toBe(true)
    expect(profileForAnyone(profile, config, told()).capabilities).toEqual([
      'core',
      'tiers',
      'scopes',
    ])
  })
})

test('an upstream that no tier names is a problem', () => {
  const config = load(`${UPSTREAMS}tiers: { t: { upstream: a } }`)
  expect(reportOf(config, told(['other'])).problems).toEqual([
    'other',
    'upstreams.b: no tier names it, so it is never asked',
  ])
})

test('problems of the upstreams’ own tiers end a start, those of configured tiers do not', () => {
  const problem = 'tier "t" is declared by a and by b'
  expect(() => refuseTwinTiers(load(UPSTREAMS), told([problem]))).toThrow(`tiers: ${problem}`)
  expect(() => refuseTwinTiers(load(UPSTREAMS), told())).not.toThrow()
  const mapped = load(`${UPSTREAMS}tiers: { t: { upstream: a } }`)
  expect(() => refuseTwinTiers(mapped, told([problem]))).not.toThrow()
})
