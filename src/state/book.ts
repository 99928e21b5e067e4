import type { Database } from 'better-sqlite3'
import type { Change, Reorganised } from '../events/changes.js'
import { type EventLog, type EventLogOptions, openEventLog } from '../events/log.js'
import { createTails, type TailStore } from './tails.js'

/** Something that was begun and has not been told in the log yet. */
export interface OpenIntent {
  readonly id: string
  /** What was to be done, as JSON. */
  readonly intent: string
  /** When it was begun, in ms since 1970. */
  readonly at: number
  /** The place in the log where it was begun: what has been told of the same records since then is behind it. */
  readonly since: string
  readonly progress: readonly Progress[]
}

/** A part of a consolidate or a session/close that is done for certain. */
export interface Progress {
  readonly owner: string | null
  readonly part: Reorganised
}

/**
 * The event log with the intents of what it will be told: each intent is on disk before its first effect, and gives way to its
 * events in one step.
 */
export interface ChangeBook {
  readonly log: EventLog
  readonly tails: TailStore
  begin(id: string, intent: string): void
  /** Keeps a part of what an open intent does; nothing where it has ended meanwhile. */
  note(id: string, progress: Progress): void
  /** Tells the changes, and ends the intent or leaves `rest` of it open. */
  end(id: string, changes: readonly Change[], rest?: string): void
  open(): OpenIntent[]
}

/** The tables of `ChangeBook` beside those of the log. */
export const INTENT_TABLES = `
  CREATE TABLE intents (
    id TEXT PRIMARY KEY, intent TEXT NOT NULL, at INTEGER NOT NULL, since TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE intent_progress (intent TEXT NOT NULL, owner TEXT, part TEXT NOT NULL);
  CREATE INDEX intent_progress_by_intent ON intent_progress (intent);
`

export function createChangeBook(database: Database, options: EventLogOptions): ChangeBook {
  const log = openEventLog(database, options)
  const begin = database.prepare('INSERT INTO intents (id, intent, at, since) VALUES (?, ?, ?, ?)')
  const narrow = database.prepare('UPDATE intents SET intent = ? WHERE id = ?')
  const end = database.prepare('DELETE FROM intents WHERE id = ?')
  const endProgress = database.prepare('DELETE FROM intent_progress WHERE intent = ?')
  return {
    log,
    tails: createTails(database, log),
    begin: database.transaction(
      (id: string, intent: string) => void begin.run(id, intent, options.now(), log.head()),
    ),
    note: createNote(database),
    end: database.transaction((id: string, changes: readonly Change[], rest?: string) => {
      if (rest === undefined) {
        end.run(id)
        endProgress.run(id)
      } else narrow.run(rest, id)
      log.append(changes)
    }),
    open: createOpen(database),
  }
}

/** Also for the journal, whose moves are the progress of what they belong to. */
export function createNote(database: Database): ChangeBook['note'] {
  const insert = database.prepare(
    'INSERT INTO intent_progress (intent, owner, part) SELECT id, ?, ? FROM intents WHERE id = ?',
  )
  return (id, { owner, part }) => void insert.run(owner, JSON.stringify(part), id)
}

function createOpen(database: Database): ChangeBook['open'] {
  const intents = database.prepare<[], Omit<OpenIntent, 'progress'>>(
    'SELECT id, intent, at, since FROM intents ORDER BY id',
  )
  const progress = database.prepare<[string], { owner: string | null; part: string }>(
    'SELECT owner, part FROM intent_progress WHERE intent = ? ORDER BY rowid',
  )
  const progressOf = (id: string): Progress[] =>
    progress.all(id).map(({ owner, part }) => ({ owner, part: JSON.parse(part) }))
  return () => intents.all().map((intent) => ({ ...intent, progress: progressOf(intent.id) }))
}
