import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'

export interface Rotation {
  /** Absolute. */
  readonly path: string
  /** In bytes; only a single line that is longer makes a larger file. */
  readonly maxSize: number
  /** In ms, from a file's first line to its last; undefined: whatever time it takes. */
  readonly maxAge: number | undefined
  /** Full files that are kept beside the one that is written to. */
  readonly keep: number
  /** Wall time in ms since 1970. */
  readonly now: () => number
}

/** Only whom the gateway runs as may read it. */
const MODE = 0o600
const NEWLINE = 0x0a

/** The file that is written to: `size` in bytes, `since` when its first line was written, in ms since 1970. */
interface Current {
  readonly handle: FileHandle
  readonly inode: number
  size: number
  since: number
}

/**
 * A file of lines that gives way to a new one when it is full or old: `audit.jsonl` becomes `audit-000001.jsonl`, the next one
 * `audit-000002.jsonl`, and the oldest go. A file that somebody else has moved away is begun anew.
 */
export class RotatingFile {
  readonly #rotation: Rotation
  #current: Current | undefined

  private constructor(rotation: Rotation) {
    this.#rotation = rotation
  }

  /** Rejects with the system's error where the file cannot be written to. */
  static async open(rotation: Rotation): Promise<RotatingFile> {
    const file = new RotatingFile(rotation)
    file.#current = await openCurrent(rotation)
    return file
  }

  /**
   * Writes lines, each of which ends in a line break, and tells how many: as many as fit into one file, at least one. Rejects with
   * the system's error; then none of them is there.
   */
  async append(lines: readonly string[]): Promise<number> {
    const current = await this.#ready(Buffer.byteLength(lines[0] ?? ''))
    const fitting = this.#fitting(lines, current.size)
    const bytes = Buffer.from(fitting.join(''))
    try {
      await writeAll(current.handle, bytes)
    } catch (thrown) {
      await current.handle.truncate(current.size).catch(() => this.#abandon())
      throw thrown
    }
    current.size += bytes.length
    return fitting.length
  }

  async close(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    await current?.handle.close()
  }

  /** A file that has room for the next line. */
  async #ready(length: number): Promise<Current> {
    if (this.#current !== undefined && !(await this.#isThere(this.#current))) await this.close()
    this.#current ??= await openCurrent(this.#rotation)
    if (this.#isFull(this.#current, length)) this.#current = await this.#rotate()
    if (this.#current.size === 0) this.#current.since = this.#rotation.now()
    return this.#current
  }

  async #isThere({ inode }: Current): Promise<boolean> {
    try {
      return (await stat(this.#rotation.path)).ino === inode
    } catch {
      return false
    }
  }

  #isFull({ size, since }: Current, length: number): boolean {
    const { maxSize, maxAge = Infinity, now } = this.#rotation
    return size > 0 && (size + length > maxSize || now() - since >= maxAge)
  }

  async #rotate(): Promise<Current> {
    await this.close()
    const full = await fullFiles(this.#rotation.path)
    const next = (full.at(-1)?.number ?? 0) + 1
    await rename(this.#rotation.path, nameOf(this.#rotation.path, next))
    const surplus = Math.max(0, full.length + 1 - this.#rotation.keep)
    const names = [...full.map(({ path }) => path), nameOf(this.#rotation.path, next)]
    for (const path of names.slice(0, surplus)) await rm(path, { force: true })
    return openCurrent(this.#rotation)
  }

  #fitting(lines: readonly string[], size: number): readonly string[] {
    let total = size
    const over = lines.findIndex((line, index) => {
      total += Buffer.byteLength(line)
      return index > 0 && total > this.#rotation.maxSize
    })
    return over < 0 ? lines : lines.slice(0, over)
  }

  /** What stands half-written in it is made whole when it is opened again. */
  async #abandon(): Promise<void> {
    await this.close().catch(() => {})
  }
}

/** Opens the file, begun anew where it is not there; a line that an earlier run left half-written is ended. */
async function openCurrent({ path, now }: Rotation): Promise<Current> {
  const handle = await open(path, 'a+', MODE)
  try {
    await handle.chmod(MODE)
    const { size, ino } = await handle.stat()
    const ended = size === 0 || (await lastByte(handle, size)) === NEWLINE
    if (!ended) await writeAll(handle, Buffer.of(NEWLINE))
    const since = (await firstInstant(handle)) ?? now()
    return { handle, inode: ino, size: ended ? size : size + 1, since }
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

async function lastByte(handle: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0]
}

/** When the first line says that it was written. */
async function firstInstant(handle: FileHandle): Promise<number | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
  const told = /^\{"at":"([^"]+)"/.exec(buffer.toString('latin1', 0, bytesRead))?.[1]
  const instant = told === undefined ? Number.NaN : Date.parse(told)
  return Number.isNaN(instant) ? undefined : instant
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
}

interface FullFile {
  readonly path: string
  readonly number: number
}

/** The files that are full, oldest first. They are numbered, since a clock may be put back. */
async function fullFiles(path: string): Promise<readonly FullFile[]> {
  const [before, after] = parts(path)
  const found = (await readdir(dirname(path))).flatMap((name) => {
    if (!name.startsWith(`${before}-`) || !name.endsWith(after)) return []
    const digits = name.slice(before.length + 1, name.length - after.length)
    return /^\d{6,15}$/.test(digits)
      ? [{ path: join(dirname(path), name), number: Number(digits) }]
      : []
  })
  return found.sort((a, b) => a.number - b.number)
}

function nameOf(path: string, number: number): string {
  const [before, after] = parts(path)
  return join(dirname(path), `${before}-${String(number).padStart(6, '0')}${after}`)
}

function parts(path: string): readonly [before: string, after: string] {
  const after = extname(path)
  return [basename(path, after), after]
}
