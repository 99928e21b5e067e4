import type { Database } from 'better-sqlite3'
import { z } from 'zod'
import { NOTHING_REORGANISED } from '../events/changes.js'
import { carriedSchema } from '../protocol/extension-schemas.js'
import { createNote } from './book.js'

const replacedSchema = z.object({
  key: z.string(),
  /** What stood there, as JSON text of `{"record": …}`, so that its metadata stays to the letter. */
  before: z.string(),
  /** What its upstream must be told beside it. */
  carried: carriedSchema.optional(),
  /** What was written over it: its content and, where that can be told, the revision that it has. */
  content: z.string(),
  revision: z.int().optional(),
})
/** A key that a write puts another content at, and what it takes to put the old one back. */
export type Replaced = Readonly<z.output<typeof replacedSchema>>

const partSchema = z.object({
  upstream: z.string(),
  owner: z.string().nullable(),
  ids: z.array(z.string()),
  replaced: z.array(replacedSchema).optional(),
})
/** What one write does at one upstream, all of one owner (null: none): the records that it makes, the keys that it rewrites. */
export type WritePart = Readonly<z.output<typeof partSchema>>

const moveSchema = z.object({
  from: z.string(),
  to: z.string(),
  /** The receiving tier by the gateway's name. */
  tier: z.string(),
  owner: z.string().nullable(),
  /** What is added to the records' salience as they arrive. */
  salience: z.number().optional(),
  /** The intent that the move is a part of, and what its records count as there. */
  cause: z.object({ intent: z.string(), as: z.enum(['moved', 'promoted']) }).optional(),
})
/** Records of one owner on their way from one upstream to another. */
export type Move = Readonly<z.output<typeof moveSchema>>

/** A move that was begun and not ended; `forgotten` are the ids that a forget named meanwhile. */
export interface OpenMove extends Move {
  readonly id: string
  readonly ids: readonly string[]
  readonly forgotten: ReadonlySet<string>
}

/** A write that was spread over upstreams and not ended: what it made must be taken back. */
export interface OpenWrite {
  readonly id: string
  readonly parts: readonly WritePart[]
}

/** What must be finished or undone should the process die: each intent is on disk before its first effect. */
export interface Journal {
  beginWrite(id: string, parts: readonly WritePart[]): void
  endWrite(id: string): void
  openWrites(): OpenWrite[]
  /** All of them or none is begun. */
  beginMoves(
    moves: readonly { readonly id: string; readonly move: Move; readonly ids: readonly string[] }[],
  ): void
  /** A move that `arrived` is credited to what it was a part of, without the records that a forget has named. */
  endMove(id: string, end: 'arrived' | 'undone'): void
  openMoves(): OpenMove[]
  /** The ids of a move that a forget has named since it began. */
  forgottenOf(move: string): ReadonlySet<string>
  /** Tells every open move that these records are to be gone: a forget in between wins. */
  markForgotten(owner: string | null, ids: readonly string[]): void
}

type WriteStep = 'beginWrite' | 'endWrite' | 'openWrites'

export function createJournal(database: Database): Journal {
  return { ...writes(database), ...moves(database) }
}

function writes(database: Database): Pick<Journal, WriteStep> {
  const begin = database.prepare('INSERT INTO writes (id, parts) VALUES (?, ?)')
  const end = database.prepare('DELETE FROM writes WHERE id = ?')
  const all = database.prepare<[], { id: string; parts: string }>(
    'SELECT id, parts FROM writes ORDER BY id',
  )
  return {
    beginWrite: (id, parts) => void begin.run(id, JSON.stringify(parts)),
    endWrite: (id) => void end.run(id),
    openWrites: () =>
      all
        .all()
        .map(({ id, parts }) => ({ id, parts: z.array(partSchema).parse(JSON.parse(parts)) })),
  }
}

function moves(database: Database): Omit<Journal, WriteStep> {
  const begin = database.prepare('INSERT INTO moves (id, move) VALUES (?, ?)')
  const addItem = database.prepare('INSERT INTO move_items (move, owner, id) VALUES (?, ?, ?)')
  const end = database.prepare('DELETE FROM moves WHERE id = ?')
  const endItems = database.prepare('DELETE FROM move_items WHERE move = ?')
  const all = database.prepare<[], { id: string; move: string }>(
    'SELECT id, move FROM moves ORDER BY id',
  )
  const items = database
    .prepare<[string], string>('SELECT id FROM move_items WHERE move = ? ORDER BY rowid')
    .pluck()
  const forgotten = database
    .prepare<[string], string>('SELECT id FROM move_items WHERE move = ? AND forgotten = 1')
    .pluck()
  const moved = database.prepare<[string], string>('SELECT move FROM moves WHERE id = ?').pluck()
  const arrivals = database
    .prepare<[string], number>('SELECT count(*) FROM move_items WHERE move = ? AND forgotten = 0')
    .pluck()
  const note = createNote(database)
  const credit = (id: string): void => {
    const move = moved.get(id)
    const { owner = null, cause } = move === undefined ? {} : moveSchema.parse(JSON.parse(move))
    if (cause === undefined) return
    const part = { ...NOTHING_REORGANISED, [cause.as]: arrivals.get(id) ?? 0 }
    note(cause.intent, { owner, part })
  }
  const mark = database.prepare('UPDATE move_items SET forgotten = 1 WHERE id = ? AND owner IS ?')
  const forgottenOf = (move: string): ReadonlySet<string> => new Set(forgotten.all(move))
  const beginMove = (id: string, move: Move, ids: readonly string[]): void => {
    begin.run(id, JSON.stringify(move))
    for (const item of ids) addItem.run(id, move.owner, item)
  }
  return {
    beginMoves: database.transaction((moves: Parameters<Journal['beginMoves']>[0]) => {
      for (const { id, move, ids } of moves) beginMove(id, move, ids)
    }),
    endMove: database.transaction((id: string, how: 'arrived' | 'undone') => {
      if (how === 'arrived') credit(id)
      endItems.run(id)
      end.run(id)
    }),
    openMoves: () =>
      all.all().map(({ id, move }) => ({
        id,
        ...moveSchema.parse(JSON.parse(move)),
        ids: items.all(id),
        forgotten: forgottenOf(id),
      })),
    forgottenOf,
    markForgotten: database.transaction((owner: string | null, ids: readonly string[]) => {
      for (const id of ids) mark.run(id, owner)
    }),
  }
}
