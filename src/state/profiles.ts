import type { Database } from 'better-sqlite3'

/** The last good profile of each upstream, as JSON text; it keeps the gateway's promise over a restart. */
export interface ProfileStore {
  read(upstream: string): string | undefined
  write(upstream: string, profile: string): void
}

export function createProfileStore(database: Database): ProfileStore {
  const read = database
    .prepare<[string], string>('SELECT profile FROM profiles WHERE upstream = ?')
    .pluck()
  const write = database.prepare(
    'INSERT OR REPLACE INTO profiles (upstream, profile) VALUES (?, ?)',
  )
  return {
    read: (upstream) => read.get(upstream),
    write: (upstream, profile) => void write.run(upstream, profile),
  }
}
