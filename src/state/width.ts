import type { Database } from 'better-sqlite3'

/** How many numbers each vector has that was accepted; once there is one, all have as many. */
export interface WidthStore {
  read(): number | undefined
  write(width: number): void
  clear(): void
}

export const WIDTH_TABLE = `
  CREATE TABLE vector_width (one INTEGER PRIMARY KEY CHECK (one = 1), width INTEGER NOT NULL);
`

export function createWidthStore(database: Database): WidthStore {
  const read = database.prepare<[], number>('SELECT width FROM vector_width').pluck()
  const write = database.prepare('INSERT OR REPLACE INTO vector_width (one, width) VALUES (1, ?)')
  const clear = database.prepare('DELETE FROM vector_width')
  return {
    read: () => read.get(),
    write: (width) => void write.run(width),
    clear: () => void clear.run(),
  }
}
