import { type Owner, ownerKey } from '../protocol/scope.js'
import { holder, type Located } from './locate.js'

/** Held while an id is looked up and written, and while the record moves. */
export function idLock(owner: string | null, id: string): string {
  return `id:${ownerKey(owner)}${id}`
}

/** Held while what stands at a key is looked up and rewritten, and while the record moves: its content is read and written again. */
export function keyLock(owner: Owner, key: string): string {
  return `key:${ownerKey(owner)}${key}`
}

/** What is held while these records move. Whoever holds any of it waits for nothing else that is locked. */
export function recordLocks(located: readonly Located[]): string[] {
  return located.flatMap(({ record }) => {
    const owner = holder(record)
    const id = idLock(owner, record.id)
    return record.key === undefined ? [id] : [id, keyLock(owner, record.key)]
  })
}

/** Held while a write of several parts is under way, so that nobody undoes it meanwhile. `id` names it in the journal. */
export function writeLock(id: string): string {
  return `write:${id}`
}
