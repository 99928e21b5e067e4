import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openSqliteLedger } from '../../../src/metering/sqlite-ledger.js'
import { describeLedger } from '../../support/ledger-suite.js'
import { usageEvent } from '../../support/usage-events.js'

describeLedger('a ledger in SQLite', async () => {
  const ledger = openSqliteLedger({ path: ':memory:', durability: 'normal' })
  onTestFinished(() => ledger.close())
  return ledger
})

describe('the file of a ledger', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'a2m-ledger-'))
    path = join(folder, 'usage.db')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const open = (access: 'read-only' | 'read-write' = 'read-write') =>
    openSqliteLedger({ path, durability: 'full', access })

  test('is there again after it was closed, and can be read beside who writes', async () => {
    const first = open()
    await first.add({ lane: 'one', segment: 1, position: 5, events: [usageEvent()] })
    await first.close()
    const [writer, reader] = [open(), open('read-only')]
    expect(await reader.position('one')).toEqual({ segment: 1, position: 5 })
    await writer.add({ lane: 'one', segment: 1, position: 6, events: [] })
    expect(await reader.position('one')).toEqual({ segment: 1, position: 6 })
    await expect(reader.moveCursor('one', 'sink', 1)).rejects.toThrow('readonly')
    await Promise.all([writer.close(), reader.close()])
  })

  test.each([
    ['no database', () => writeFileSync(path, 'no database at all, but long enough for a header')],
    ['the database of another program', () => new Sqlite(path).exec('CREATE TABLE t (x)').close()],
    ['of a newer release', () => void new Sqlite(path).pragma('user_version = 99')],
  ])('is refused with its name where it is %s', (_, make) => {
    make()
    expect(() => open()).toThrow(`cannot use ${path} as a ledger`)
  })
})
