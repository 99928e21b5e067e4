import { expect, test } from 'vitest'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { disagrees, discover, restoreProfile } from '../../../src/upstreams/profile.js'
import { anyContext } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'
import { Faulty, PlainMemory, type PlainOptions } from '../../support/plain-memory.js'
import { describing, profileOf } from '../../support/upstreams.js'

const TIERED: PlainOptions = {
  capabilities: ['core', 'tiers', 'scopes'],
  tiers: ['a', 'b'],
  limits: { max_recall_limit: 50 },
}

const read = (memory: PlainMemory | Faulty, access?: 'read-only' | 'read-write') =>
  discover({ memory, context: anyContext(), access })

test('what describe says, and nothing written to find out', async () => {
  const memory = new PlainMemory(TIERED)
  const { profile } = await read(memory)
  expect(profile).toMatchObject({
    limits: { max_recall_limit: 50 },
    readOnly: false,
    extended: false,
  })
  expect(profile.tiers.map(({ name }) => name)).toEqual(['a', 'b'])
  expect(memory.records).toEqual([])
  expect(memory.asked.map(({ method }) => method)).toEqual(['memory/describe', 'memory/remember'])
})

test('tiers of a server that does not declare them are none', async () => {
  expect((await profileOf({ capabilities: ['core'], tiers: ['a'] })).tiers).toEqual([])
})

test(`a write of nothing finds out a read-only store ${meets('2.1/tolerated')}`, async () => {
  expect((await read(new PlainMemory({ readOnly: true }))).profile.readOnly).toBe(true)
})

test.each([
  ['read-only', true],
  ['read-write', false],
] as const)('configured as %s, nobody is asked', async (access, readOnly) => {
  const memory = new PlainMemory({ readOnly: !readOnly })
  expect((await read(memory, access)).profile.readOnly).toBe(readOnly)
  expect(memory.asked.map(({ method }) => method)).toEqual(['memory/describe'])
})

test.each([['a2m/0.2'], ['a2m/1.0'], ['nonsense']])('%s is another version', async (protocol) => {
  await expect(read(new PlainMemory({ protocol }))).rejects.toMatchObject({ protocol })
})

test('so is what a server refuses to speak; what else it answers is its error', async () => {
  const faulty = new Faulty(new PlainMemory())
  faulty.fault = () => new A2mError('PROTOCOL_NOT_SUPPORTED', 'no')
  await expect(read(faulty)).rejects.toThrow('another version')
  const cut = new Fault('cut', 'cut')
  faulty.fault = (method) => (method === 'memory/remember' ? cut : undefined)
  await expect(read(faulty)).rejects.toBe(cut)
})

test('a stored profile comes back as it was', async () => {
  const { profile, stored } = await read(new PlainMemory({ ...TIERED, readOnly: true }))
  expect(restoreProfile(stored, undefined)).toEqual(profile)
})

test('what the configuration says of writing goes before what was stored', async () => {
  const { stored } = await read(new PlainMemory())
  expect(restoreProfile(stored, 'read-only')?.readOnly).toBe(true)
  expect(restoreProfile(stored, 'read-write')?.readOnly).toBe(false)
  const readOnly = await read(new PlainMemory({ readOnly: true }))
  expect(restoreProfile(readOnly.stored, 'read-write')?.readOnly).toBe(false)
})

test.each([
  ['not JSON', '{"descr'],
  ['another shape', '{"readOnly":true}'],
  [
    'another protocol',
    JSON.stringify({ description: describing({ protocol: 'a2m/0.2' }), readOnly: false }),
  ],
])('a stored profile that is %s counts as none', (_, stored) => {
  expect(restoreProfile(stored, undefined)).toBeUndefined()
})

test.each([
  ['the same in another order', { capabilities: ['scopes', 'tiers', 'core'] }, false],
  ['other names and counts', { capabilities: ['core', 'tiers', 'scopes'], name: 'x' }, false],
  ['more', { capabilities: ['core', 'tiers', 'scopes', 'keys'] }, true],
  ['less', { capabilities: ['core', 'tiers'] }, true],
  ['another', { capabilities: ['core', 'tiers', 'keys'] }, true],
  ['another version', { capabilities: ['core', 'tiers', 'scopes'], protocol: 'a2m/0.2' }, true],
])('a well-known profile with %s', async (_, over, wanted) => {
  expect(disagrees(describing(over), await profileOf(TIERED))).toBe(wanted)
})
