import {
  closeSync,
  existsSync,
  fdatasync,
  ftruncateSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { type Segment, segmentsIn } from './lane.js'

/** What the spool asks of a file system. All but `sync` is done at once: a write into the system's memory takes less than handing it on. */
export interface SpoolFiles {
  /** Makes a file that must not be there yet. */
  create(path: string): number
  /** Returns how many of the bytes were taken. */
  write(file: number, bytes: Uint8Array): number
  truncate(file: number, size: number): void
  /** Resolves when the file is where it survives loss of power. */
  sync(file: number): Promise<void>
  close(file: number): void
  /** One that is gone already is none to remove. */
  remove(path: string): void
  has(path: string): boolean
  /** The segments in a folder, oldest first. */
  list(folder: string): readonly Segment[]
}

const datasync = promisify(fdatasync)

export function systemFiles(): SpoolFiles {
  /** Files whose names are not safe yet, with their folders. */
  const unnamed = new Map<number, string>()
  return {
    create(path) {
      const file = openSync(path, 'ax', 0o600)
      unnamed.set(file, dirname(path))
      return file
    },
    write: (file, bytes) => writeSync(file, bytes),
    truncate: (file, size) => ftruncateSync(file, size),
    async sync(file) {
      const folder = unnamed.get(file)
      await datasync(file)
      if (folder === undefined) return
      await syncFolder(folder)
      unnamed.delete(file)
    },
    close(file) {
      unnamed.delete(file)
      closeSync(file)
    },
    remove: (path) => rmSync(path, { force: true }),
    has: existsSync,
    list: segmentsIn,
  }
}

/** A new file survives only where its folder has been written too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
