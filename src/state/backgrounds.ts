import type { Database } from 'better-sqlite3'

/** Term frequencies learnt for each owner (see federation/ranking/background.ts), as bytes; the least recently written go first. */
export interface BackgroundStore {
  read(owner: string): Uint8Array | undefined
  /** `at` is wall time in ms, by which the oldest are dropped beyond `MOST_BACKGROUNDS`. */
  write(owner: string, background: Uint8Array, at: number): void
}

const MOST_BACKGROUNDS = 10_000

export function createBackgroundStore(database: Database): BackgroundStore {
  const read = database
    .prepare<[string], Buffer>('SELECT background FROM backgrounds WHERE owner = ?')
    .pluck()
  const write = database.prepare(
    'INSERT OR REPLACE INTO backgrounds (owner, background, at) VALUES (?, ?, ?)',
  )
  const trim = database.prepare(
    'DELETE FROM backgrounds WHERE owner IN (SELECT owner FROM backgrounds ORDER BY at DESC LIMIT -1 OFFSET ?)',
  )
  return {
    read: (owner) => read.get(owner),
    write(owner, background, at) {
      write.run(owner, background, at)
      trim.run(MOST_BACKGROUNDS)
    },
  }
}
