import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { JsonText } from '../../../src/protocol/json.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import type { TranslationOptions } from '../../../src/upstreams/phrasing.js'
import type { UpstreamProfile } from '../../../src/upstreams/profile.js'
import { Translation } from '../../../src/upstreams/translate.js'
import { kept, objectSource } from '../../support/json-sources.js'
import { meets } from '../../support/meets.js'
import { profileOf } from '../../support/upstreams.js'

let tierless: UpstreamProfile
let tiered: UpstreamProfile
beforeAll(async () => {
  tierless = await profileOf({ capabilities: ['core', 'scopes'] })
  tiered = await profileOf({ capabilities: ['core', 'tiers', 'scopes'], tiers: ['w', 'e', 's'] })
})

const NAMES = new Set(['here', 'other'])
const ALL = [
  { tier: 'working', upstreamTier: 'w' },
  { tier: 'episodic', upstreamTier: 'e' },
  { tier: 'semantic', upstreamTier: 's' },
]

function over(profile: UpstreamProfile, options: Partial<TranslationOptions> = {}): Translation {
  const only = [{ tier: 'working', upstreamTier: undefined }]
  const routes = profile.tiers.length === 0 ? only : ALL
  return new Translation({
    name: 'here',
    profile,
    routes,
    owners: 'apart',
    ids: 'own',
    names: NAMES,
    ...options,
  })
}

const raw = (fields: Partial<MemoryRecord> = {}): MemoryRecord => ({
  id: 'x',
  content: 'text',
  created_at: '2026-01-01T00:00:00.000Z',
  ...fields,
})

const selection = { tiers: ['working'], owner: undefined, where: undefined, limit: 5 }

function arrived(translation: Translation, record: MemoryRecord): MemoryRecord {
  const outcome = translation.arrive(record, undefined, {})
  if (typeof outcome === 'string') throw new Error(`it is ${outcome}`)
  return outcome.record
}

describe('tiers', () => {
  test.each([
    ['one', ['episodic'], { tier: 'e' }],
    ['several', ['working', 'semantic'], { where: { tier: ['w', 's'] } }],
    ['all', ['working', 'episodic', 'semantic'], {}],
  ])('%s of those that the upstream has', (_, tiers, wanted) => {
    expect(over(tiered).reading({ ...selection, tiers }, {})).toEqual({ ...wanted, limit: 5 })
  })

  test('all that are mapped is not all that there is', () => {
    const translation = over(tiered, { routes: ALL.slice(0, 2) })
    expect(translation.reading({ ...selection, tiers: ['working', 'episodic'] }, {})).toEqual({
      where: { tier: ['w', 'e'] },
      limit: 5,
    })
  })

  test('an upstream without tiers is never sent one', () => {
    const translation = over(tierless)
    const entry = { id: 'x', content: 'text', tier: 'working' }
    expect(translation.reading(selection, {})).toEqual({ limit: 5 })
    expect(translation.writing([{ entry, carried: undefined }])).toEqual({
      records: [{ id: 'x', content: 'text' }],
    })
    expect(arrived(translation, raw({ tier: 'its own word' })).tier).toBe('working')
  })

  test('a write and a promote name the tier as the upstream does', () => {
    const entry = { id: 'x', content: 'text', tier: 'semantic' }
    expect(over(tiered).writing([{ entry, carried: undefined }]).records[0]?.tier).toBe('s')
    expect(over(tiered).promoting(['x'], { tier: 'semantic', owner: undefined })).toEqual({
      ids: ['x'],
      tier: 's',
    })
    expect(over(tiered).tierName('s')).toBe('semantic')
    expect(over(tiered).tierName('unheard of')).toBeUndefined()
  })

  test('records of tiers that are not mapped do not arrive, nor do those that name none of several', () => {
    const translation = over(tiered, { routes: ALL.slice(0, 1) })
    expect(translation.arrive(raw({ tier: 'e' }), undefined, {})).toBe('unmapped')
    expect(translation.arrive(raw(), undefined, {})).toBe('unmapped')
    expect(arrived(translation, raw({ tier: 'w' })).tier).toBe('working')
  })

  test('where an upstream has one tier alone, a record that names none is in it', async () => {
    const profile = await profileOf({ capabilities: ['core', 'tiers'], tiers: ['w'] })
    const translation = over(profile, { routes: ALL.slice(0, 1) })
    expect(arrived(translation, raw()).tier).toBe('working')
  })
})

describe('owners', () => {
  test.each([
    ['extended', 'apart', 'alice', { owner: 'alice' }],
    ['extended', 'apart', null, { [EXTENSION]: { owner: null } }],
    ['extended', 'apart', undefined, {}],
    ['plain', 'apart', 'alice', { owner: 'alice' }],
    ['plain', 'apart', null, { where: { owner: null } }],
    ['plain', 'apart', undefined, {}],
    ['plain', 'common', 'alice', {}],
    ['plain', 'common', null, {}],
    ['extended', 'common', 'alice', {}],
  ] as const)('%s, %s, of %s', (kind, owners, owner, wanted) => {
    const profile = { ...tierless, extended: kind === 'extended' }
    const translation = over(profile, { owners })
    expect(translation.reading({ ...selection, owner }, {})).toEqual({ ...wanted, limit: 5 })
    const { where: _, ...params } = { where: undefined, ...wanted }
    expect(translation.forgetting(['x'], owner)).toEqual({ ids: ['x'], ...params })
    expect(translation.describing(owner)).toEqual(params)
  })

  test.each([
    ['apart', 'alice', 'alice', true],
    ['apart', 'bob', 'alice', false],
    ['apart', undefined, 'alice', false],
    ['apart', undefined, null, true],
    ['apart', 'alice', null, false],
    ['apart', 'alice', undefined, true],
    ['apart', undefined, undefined, true],
    ['common', undefined, 'alice', true],
    ['common', 'bob', 'alice', false],
    ['common', undefined, null, true],
    ['common', 'bob', null, false],
  ] as const)('%s: a record of %s asked for by %s', (owners, has, asking, admitted) => {
    const record = has === undefined ? raw() : raw({ owner: has })
    const outcome = over(tierless, { owners }).arrive(record, asking, {})
    expect(outcome === 'foreign').toBe(!admitted)
  })

  test('a promote says whose the records are where the upstream understands it', () => {
    const extended = over({ ...tiered, extended: true })
    expect(extended.promoting(['x'], { tier: 'semantic', owner: null })).toMatchObject({
      [EXTENSION]: { owner: null },
    })
    expect(extended.promoting(['x'], { tier: 'semantic', owner: 'alice' })).toMatchObject({
      [EXTENSION]: { owner: 'alice' },
    })
    expect(over(tiered).promoting(['x'], { tier: 'semantic', owner: 'alice' })).toEqual({
      ids: ['x'],
      tier: 's',
    })
  })

  test('an owner is written where owners are kept apart, and nowhere else', () => {
    const items = [{ entry: { id: 'x', content: 'text', owner: 'alice' }, carried: undefined }]
    expect(over(tierless).writing(items).records[0]?.owner).toBe('alice')
    expect(over(tierless, { owners: 'common' }).writing(items).records[0]).toEqual({
      id: 'x',
      content: 'text',
    })
  })
})

describe('ids', () => {
  test.each([
    ['own', 'x', 'x'],
    ['own', 'here:x', 'x'],
    ['own', 'other:x', undefined],
    ['own', 'nobody:x', 'nobody:x'],
    ['own', ':x', ':x'],
    ['own', 'here:a:b', 'a:b'],
    ['foreign', 'x', undefined],
    ['foreign', 'here:x', 'x'],
    ['foreign', 'other:x', undefined],
    ['foreign', 'here:here:x', 'here:x'],
  ] as const)('%s: %s is taken back as %s', (ids, shown, wanted) => {
    expect(over(tierless, { ids }).idHere(shown)).toBe(wanted)
  })

  test.each([
    ['own', 'x', 'x'],
    ['own', 'here:x', 'here:here:x'],
    ['own', 'other:x', 'here:other:x'],
    ['own', 'nobody:x', 'nobody:x'],
    ['foreign', 'x', 'here:x'],
  ] as const)('%s: %s is shown as %s', (ids, id, wanted) => {
    expect(arrived(over(tierless, { ids }), raw({ id })).id).toBe(wanted)
  })

  test(`every id is taken back as what it was shown for, and by no other upstream ${meets('3.2/opaque')}`, () => {
    const part = fc.constantFrom('here', 'other', ':', 'x', '')
    const anyId = fc.oneof(
      fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
      fc.string(),
    )
    fc.assert(
      fc.property(anyId, fc.constantFrom('own', 'foreign'), (id, ids) => {
        const translation = over(tierless, { ids })
        expect(translation.idHere(translation.shownId(id))).toBe(id)
        expect(translation.idHere(translation.qualifiedId(id))).toBe(id)
        const other = over(tierless, { name: 'other', ids: 'foreign' })
        expect(other.idHere(translation.shownId(id))).toBeUndefined()
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    [undefined, {}],
    [{ id: 'x' }, { id: ['x'] }],
    [{ id: ['x', 'other:y', 'here:z', 7] }, { id: ['x', 'z'] }],
    [{ id: ['other:y'] }, undefined],
    [{ id: null }, undefined],
    [{ id: [] }, undefined],
    [{ role: 'user', tier: 'working' }, { role: 'user' }],
  ])('where %j is %j here', (where, wanted) => {
    expect(over(tierless).whereHere(where)).toEqual(wanted)
  })
})

describe('where', () => {
  const where = { role: 'user', owner: 'a', created_at: 't', metadata: {}, colour: 'red' }

  test.each([
    ['plain', 'apart', ['colour', 'owner', 'role']],
    ['plain', 'common', ['colour', 'role']],
    ['extended', 'apart', ['colour', 'created_at', 'metadata', 'owner', 'role']],
  ] as const)('%s, %s: what is pushed down', (kind, owners, wanted) => {
    const translation = over({ ...tierless, extended: kind === 'extended' }, { owners })
    const { where: pushed = {}, limit } = translation.reading(selection, where)
    expect(Object.keys(pushed).toSorted()).toEqual(wanted)
    const whole = wanted.length === Object.keys(where).length
    expect(translation.pushes(where)).toBe(whole)
    expect(limit).toBe(whole ? 5 : 0)
  })

  test.each([
    ['plain', [], []],
    ['plain', ['sessions', 'keys'], ['key', 'session']],
    ['plain', ['salience', 'external'], ['media_type', 'salience', 'uri']],
    [
      'extended',
      [],
      ['access_count', 'key', 'media_type', 'revision', 'salience', 'session', 'uri'],
    ],
  ] as const)(
    '%s with %j: which fields that may be reserved are pushed down',
    (kind, more, wanted) => {
      const capabilities = new Set<string>([...tierless.capabilities, ...more])
      const translation = over({ ...tierless, capabilities, extended: kind === 'extended' })
      const fields = { session: 's', key: 'k', salience: 1, uri: 'u', media_type: 'm' }
      const counted = { access_count: 1, revision: 1 }
      const { where: pushed = {} } = translation.reading(selection, { ...fields, ...counted })
      expect(Object.keys(pushed).toSorted()).toEqual(wanted)
    },
  )

  test.each([
    ['extended', ['salience'], { quiet: true }, { quiet: true }],
    ['extended', [], { quiet: true }, undefined],
    ['extended', [], { outline: true }, { outline: true }],
    ['plain', ['salience'], { quiet: true, outline: true }, undefined],
  ] as const)('%s with %j: beside a selection goes of %j', (kind, more, wishes, wanted) => {
    const capabilities = new Set<string>([...tierless.capabilities, ...more])
    const translation = over({ ...tierless, capabilities, extended: kind === 'extended' })
    expect(translation.reading({ ...selection, ...wishes }, {})[EXTENSION]).toEqual(wanted)
  })

  test('what is not pushed down is held to all the same', () => {
    const translation = over(tierless)
    const at = '2026-01-01T02:00:00+02:00'
    const outcome = (record: MemoryRecord, test: object) =>
      typeof translation.arrive(record, undefined, { ...test })
    expect(outcome(raw(), { created_at: at })).toBe('object')
    expect(outcome(raw({ created_at: '2026-01-02T00:00:00.000Z' }), { created_at: at })).toBe(
      'string',
    )
    const record = raw({ metadata: new JsonText('{"n":1.0}') })
    expect(outcome(record, { metadata: { n: 1 } })).toBe('object')
    expect(outcome(record, { metadata: {} })).toBe('string')
    expect(translation.arrive(record, undefined, { n: 2 })).toBe('unmatched')
  })
})

test.each([
  [undefined, 0, 0],
  [undefined, 500, 500],
  [100, 0, 100],
  [100, 500, 100],
  [100, 8, 8],
])('a maximum of %s makes of %i: %i', (most, limit, wanted) => {
  const limits = most === undefined ? {} : { max_recall_limit: most }
  expect(over({ ...tierless, limits }).reading({ ...selection, limit }, {}).limit).toBe(wanted)
})

describe('time', () => {
  test.each([
    ['2026-01-01T00:00:00.123Z', '2026-01-01T00:00:00.123Z'],
    ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.000Z'],
    ['2025-12-31T19:00:00.999999-05:00', '2026-01-01T00:00:00.999Z'],
    ['2026-01-01t00:00:00z', '2026-01-01T00:00:00.000Z'],
  ])('%s is shown as %s, and kept as exactly as it was told', (at, shown) => {
    const outcome = over(tierless).arrive(raw({ created_at: at, accessed_at: at }), undefined, {})
    expect(outcome).toMatchObject({ at, record: { created_at: shown, accessed_at: shown } })
  })
})

describe('reserved metadata', () => {
  const carried = { created_at: '2020-02-02T02:02:02.020Z' }

  function returned(metadata: JsonText | undefined): MemoryRecord {
    const entry = { id: 'x', content: 'text', ...(metadata === undefined ? {} : { metadata }) }
    const translation = over(tierless)
    const [written] = translation.writing([{ entry, carried }]).records
    expect(written?.metadata?.text).toContain(carried.created_at)
    return arrived(translation, raw({ metadata: written?.metadata }))
  }

  test('any metadata comes back to the letter, with its time', () => {
    fc.assert(
      fc.property(objectSource, (source) => {
        const text = kept(source)
        const record = returned(new JsonText(text))
        const empty = text.slice(1, -1).trim() === ''
        expect(record.metadata?.text).toBe(empty ? '{}' : text)
        expect(record.created_at).toBe(carried.created_at)
      }),
    )
  })

  test('no metadata stays no metadata, and an empty object one', () => {
    expect(Object.hasOwn(returned(undefined), 'metadata')).toBe(false)
    expect(returned(new JsonText('{}')).metadata?.text).toBe('{}')
  })

  test('an upstream that understands the extension takes it beside the records', () => {
    const translation = over({ ...tierless, extended: true })
    const entries = [
      { entry: { id: 'x', content: 'text' }, carried },
      { entry: { id: 'y', content: 'text' }, carried: undefined },
    ]
    expect(translation.writing(entries)).toEqual({
      records: entries.map(({ entry }) => entry),
      [EXTENSION]: { carried: [carried, null] },
    })
    expect(translation.writing(entries.slice(1))).toEqual({ records: [entries[1]?.entry] })
  })

  test.each([['"text"'], ['{"created_at":"yesterday"}'], ['{"created_at":5}']])(
    'a value under the reserved name that is none of ours is left alone: %s',
    (value) => {
      const metadata = new JsonText(`{"${EXTENSION}":${value}}`)
      const record = arrived(over(tierless), raw({ metadata }))
      expect(record.metadata?.text).toBe(metadata.text)
      expect(record.created_at).toBe('2026-01-01T00:00:00.000Z')
    },
  )
})
