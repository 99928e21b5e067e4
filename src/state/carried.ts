import type { Database } from 'better-sqlite3'

/**
 * Which records stand at an upstream with reserved metadata in place of a field that it could not be told. Their number
 * says how many more records a timeline must ask for there.
 */
export interface CarriedRecords {
  /** `owner` is empty for records without one. */
  add(upstream: string, owner: string, ids: readonly string[]): void
  remove(upstream: string, owner: string, ids: readonly string[]): void
  count(upstream: string): number
}

export function createCarriedRecords(database: Database): CarriedRecords {
  const insert = database.prepare(
    'INSERT OR IGNORE INTO carried (upstream, owner, id) VALUES (?, ?, ?)',
  )
  const remove = database.prepare('DELETE FROM carried WHERE upstream = ? AND owner = ? AND id = ?')
  const total = database
    .prepare<[string], number>('SELECT count(*) FROM carried WHERE upstream = ?')
    .pluck()
  const counts = new Map<string, number>()
  const change = (statement: typeof insert) =>
    database.transaction((upstream: string, owner: string, ids: readonly string[]) => {
      for (const id of ids) statement.run(upstream, owner, id)
      counts.delete(upstream)
    })
  return {
    add: change(insert),
    remove: change(remove),
    count(upstream) {
      const known = counts.get(upstream) ?? total.get(upstream) ?? 0
      counts.set(upstream, known)
      return known
    },
  }
}
