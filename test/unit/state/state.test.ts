import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openState, type State } from '../../../src/state/state.js'
import { temporaryFolder } from '../../support/federation.js'

let folder: ReturnType<typeof temporaryFolder>
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder.path, 'state.db')
})
afterEach(() => folder.remove())

function opened<T>(use: (state: State) => T): T {
  const state = openState({ path, durability: 'normal' })
  try {
    return use(state)
  } finally {
    state.close()
  }
}

function raw<T>(use: (database: Database.Database) => T): T {
  const database = new Database(path)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

test('what is kept outlives a restart', () => {
  opened(({ profiles, carried, backgrounds, journal }) => {
    profiles.write('a', 'first')
    profiles.write('a', 'second')
    carried.add('a', 'alice', ['x'])
    backgrounds.write('alice', new Uint8Array([1, 2]), 5)
    journal.beginWrite('w', [{ upstream: 'a', owner: null, ids: ['x'] }])
  })
  opened(({ profiles, carried, backgrounds, journal }) => {
    expect([profiles.read('a'), profiles.read('b')]).toEqual(['second', undefined])
    expect(carried.count('a')).toBe(1)
    expect([...(backgrounds.read('alice') ?? [])]).toEqual([1, 2])
    expect(journal.openWrites()).toHaveLength(1)
  })
})

test('a file that another gateway has open is refused in one line, and free again when that ends', () => {
  opened(() => {
    expect(() => opened(() => {})).toThrow(
      `cannot open the gateway's state at ${path}: another gateway is using it`,
    )
  })
  opened(({ profiles }) => expect(profiles.read('a')).toBeUndefined())
})

test('a file of before places were kept is brought up to date', () => {
  opened(() => {})
  raw((database) => {
    database.exec('DROP TABLE event_places')
    database.pragma('user_version = 4')
  })
  opened(({ openBook }) => {
    const book = openBook({ keep: 10, maxAge: 1000, now: () => 0, places: 'kept' })
    const { cursor } = book.log.read({ owner: 'ann' })
    book.begin('w', '{}')
    const record = { id: 'a', owner: 'ann', tier: 't', upstream: 'u' }
    const rest = { session: undefined, key: undefined, revision: undefined }
    book.end('w', [{ kind: 'written', records: [{ ...record, ...rest }] }])
    const { events } = book.log.read({
      cursor,
      owner: 'ann',
      sees: ({ upstream }) => upstream === 'u',
    })
    expect(events).toHaveLength(1)
  })
})

test('a file of a newer version is refused in one line that names it', () => {
  opened(() => {})
  raw((database) => database.pragma('user_version = 1000'))
  expect(() => opened(() => {})).toThrow(
    `cannot open the gateway's state at ${path}: it was written by a newer version`,
  )
})

const OF_THE_FIRST = new Set([
  'profiles',
  'writes',
  'moves',
  'move_items',
  'carried',
  'backgrounds',
])

test('a file of the first version is brought up to date with what is in it', () => {
  opened(({ profiles }) => profiles.write('a', 'kept'))
  raw((database) => {
    database.exec('DROP INDEX backgrounds_by_at')
    const tables =
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    for (const name of database.prepare<[], string>(tables).pluck().all()) {
      if (!OF_THE_FIRST.has(name)) database.exec(`DROP TABLE ${name}`)
    }
    database.pragma('user_version = 1')
  })
  opened(({ profiles }) => expect(profiles.read('a')).toBe('kept'))
  const indexes = raw((database) =>
    database.prepare("SELECT name FROM sqlite_master WHERE type = 'index'").pluck().all(),
  )
  expect(indexes).toContain('backgrounds_by_at')
})

test.each([
  ['text', 'this is no database, and long enough for anybody to see that it is none'.repeat(20)],
  ['a torn header', `SQLite format 3\0${'x'.repeat(4096)}`],
])(
  'a file that holds %s is refused in one line that names it, and stays as it was',
  (_, content) => {
    writeFileSync(path, content)
    expect(() => opened(() => {})).toThrow(
      /^cannot open the gateway's state at .*state\.db: [^\n]+$/,
    )
    expect(readFileSync(path, 'utf8')).toBe(content)
  },
)

test('a file whose pages are overwritten is refused before anything is read from it', () => {
  opened(({ profiles }) => profiles.write('a', 'kept'))
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0xaa, 4096))
  expect(() => opened(() => {})).toThrow(
    `cannot open the gateway's state at ${path}: it is damaged or no SQLite database; restore it`,
  )
})

test('a folder that is not there is an error that names the file', () => {
  const missing = join(folder.path, 'nowhere', 'state.db')
  expect(() => openState({ path: missing, durability: 'normal' })).toThrow(missing)
})

test.each([
  ['normal', 1],
  ['full', 2],
] as const)('durability %s', (durability, wanted) => {
  let seen: unknown
  const pragma = Database.prototype.pragma
  Database.prototype.pragma = function (this: Database.Database, ...args) {
    const result = pragma.apply(this, args)
    if (args[0].startsWith('synchronous')) seen = pragma.call(this, 'synchronous', { simple: true })
    return result
  }
  try {
    openState({ path, durability }).close()
  } finally {
    Database.prototype.pragma = pragma
  }
  expect(seen).toBe(wanted)
})
