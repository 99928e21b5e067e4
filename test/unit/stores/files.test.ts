import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase, UnusableFile } from '../../../src/stores/database.js'
import { APPLICATION_ID, MIGRATIONS, schemaVersion } from '../../../src/stores/migrations.js'
import { codeOf, contents, OpenStore } from './open.js'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'store-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

async function written(path: string, texts: readonly string[] = ['kept']): Promise<void> {
  const store = new OpenStore({ path })
  await store.write(...texts)
  await store.memory.close()
}

test('what was written is there when the file is opened again, in a folder made for it', async () => {
  const path = join(folder(), 'new', 'folder', 'facts.db')
  await written(path, ['red fox'])
  const store = new OpenStore({ path })
  expect(contents(await store.recall('foxes'))).toEqual(['red fox'])
  expect(await store.counts()).toMatchObject({ working: 1 })
})

test('a tier that is named no more stays reachable', async () => {
  const path = join(folder(), 'facts.db')
  await written(path)
  const store = new OpenStore({ path, tiers: ['facts'] })
  expect(await store.counts()).toEqual({ facts: 0, working: 1 })
  expect(contents(await store.timeline({ tier: 'working' }))).toEqual(['kept'])
})

test('a read-only store reads, and refuses every write', async () => {
  const path = join(folder(), 'facts.db')
  await written(path)
  const bytes = readFileSync(path)
  const store = new OpenStore({ path, access: 'read-only' })
  expect(contents(await store.recall('kept'))).toEqual(['kept'])
  expect(contents(await store.timeline())).toEqual(['kept'])
  expect(await codeOf(store.write('more'))).toBe(-32004)
  expect(await codeOf(store.call('memory/forget', { tier: 'nowhere' }))).toBe(-32004)
  expect(await codeOf(store.call('memory/consolidate', {}))).toBe(-32004)
  await store.memory.close()
  expect(readFileSync(path)).toEqual(bytes)
})

test('a reader sees what a writer on the same file has committed', async () => {
  const path = join(folder(), 'facts.db')
  const writer = new OpenStore({ path })
  await writer.write('one')
  const reader = new OpenStore({ path, access: 'read-only' })
  await writer.write({ content: 'two', owner: 'ann', tier: 'semantic' })
  expect(contents(await reader.recall('two'))).toEqual(['two'])
  expect(await reader.counts({ owner: 'ann' })).toMatchObject({ semantic: 1 })
})

const refusal = (path: string, access: 'read-write' | 'read-only' = 'read-write'): string => {
  try {
    openDatabase({ path, access }).close()
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(UnusableFile)
    expect(String(thrown)).toContain(path)
    return String(thrown)
  }
  return 'opened'
}

test('a path that cannot be a file is refused', () => {
  const path = join(folder(), 'file')
  writeFileSync(path, '')
  mkdirSync(`${path}s`)
  expect(refusal(join(path, 'below.db'))).toMatch(/cannot be opened/)
  expect(refusal(`${path}s`)).toMatch(/cannot be opened/)
  expect(refusal('/proc/facts.db')).toMatch(/cannot be (opened|written)/)
  expect(refusal(join(path, '..', 'missing.db'), 'read-only')).toMatch(/cannot be opened/)
})

test('a file that is no database, or half of one, is refused and left as it is', async () => {
  const path = join(folder(), 'facts.db')
  writeFileSync(path, 'no database at all, whatever its name may say. '.repeat(100))
  expect(refusal(path)).toMatch(/damaged/)
  expect(readFileSync(path, 'utf8')).toMatch(/^no database/)
  rmSync(path)
  await written(
    path,
    Array.from({ length: 200 }, (_, n) => `text ${n} ${'x'.repeat(500)}`),
  )
  truncateSync(path, 8192)
  expect(refusal(path)).toMatch(/damaged/)
})

test("another program's database is refused", () => {
  const path = join(folder(), 'facts.db')
  new Sqlite(path).exec('CREATE TABLE mine (x)').close()
  expect(refusal(path)).toMatch(/another program/)
})

test('a newer schema is refused, an older one is read only after it was brought up to date', () => {
  const path = join(folder(), 'facts.db')
  openDatabase({ path }).close()
  const db = new Sqlite(path)
  db.pragma(`user_version = ${MIGRATIONS.length + 1}`)
  expect(refusal(path)).toMatch(/newer release/)
  db.pragma('user_version = 0')
  expect(refusal(path, 'read-only')).toMatch(/open it once for writing/)
  db.close()
})

test('a file takes the steps that it lacks, each once, and a failing one leaves it as it was', () => {
  const path = join(folder(), 'facts.db')
  openDatabase({ path }).close()
  const taken: string[] = []
  const next = [
    ...MIGRATIONS,
    () => taken.push('second'),
    (db: Sqlite.Database) => db.exec('ALTER TABLE records ADD COLUMN extra TEXT'),
  ]
  for (let times = 0; times < 2; times++) openDatabase({ path }, next).close()
  expect(taken).toEqual(['second'])
  const failing = (db: Sqlite.Database): void => {
    db.exec('DROP TABLE records')
    throw new Error('no')
  }
  expect(() => openDatabase({ path }, [...next, failing])).toThrow(UnusableFile)
  const db = openDatabase({ path }, next)
  expect(schemaVersion(db)).toBe(next.length)
  expect(db.pragma('application_id', { simple: true })).toBe(APPLICATION_ID)
  expect(db.prepare('SELECT extra FROM records').all()).toEqual([])
  db.close()
})

test('a file of the first schema is brought up to date with all that was in it', async () => {
  const path = join(folder(), 'facts.db')
  const db = openDatabase({ path }, MIGRATIONS.slice(0, 1))
  db.exec(`
    INSERT INTO owners VALUES (1, NULL);
    INSERT INTO partitions VALUES (1, 1, 'working', 1, 2);
    INSERT INTO records (id, owner_no, partition_no, created_at, length, content)
      VALUES ('old', 1, 1, 0, 2, 'red fox');
    INSERT INTO terms (rowid, tokens) VALUES (1, 'red|1|4 fox|1|4');
  `)
  db.close()
  const store = new OpenStore({ path, events: { keep: 10 } })
  expect(await store.recall('fox')).toMatchObject([{ id: 'old', salience: 1, access_count: 0 }])
  expect(await store.timeline()).toMatchObject([{ id: 'old', access_count: 1 }])
  await store.write({ content: 'new', key: 'k', session: 's', embedding: [1], uri: 'a:b' })
  expect(contents(await store.recall({ embedding: [1] }))).toEqual(['new'])
  expect((await store.call('memory/session/list', {})).sessions).toHaveLength(1)
})

test.each([
  ['normal', 1],
  ['full', 2],
] as const)('durability %s is synchronous %i over a write-ahead log', (durability, synchronous) => {
  const db = openDatabase({ path: join(folder(), 'facts.db'), durability })
  expect(db.pragma('synchronous', { simple: true })).toBe(synchronous)
  expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
  db.close()
})
