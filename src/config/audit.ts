import { resolve } from 'node:path'
import type { z } from 'zod'
import { lifetime, oneOf, size, strict, text, whole } from './values.js'

/** The audit log: a file of JSON Lines, and those before it that are full or old. */
export interface AuditConfig {
  /** Absolute. */
  readonly path: string
  /** In bytes. */
  readonly maxSize: number
  /** In ms; undefined: a file is closed by its size alone. */
  readonly maxAge: number | undefined
  /** Full files that are kept. */
  readonly keep: number
  /** What becomes of writes while it cannot be written. */
  readonly onFailure: 'continue' | 'refuse'
}

export const auditSchema = strict({
  path: text.default('audit.jsonl'),
  max_size: size.default(64 * 1024 * 1024),
  max_age: lifetime.optional(),
  keep: whole(1, 10_000).default(10),
  on_failure: oneOf(['continue', 'refuse']).default('continue'),
})

/** Relative paths are in `data_dir`. */
export function toAudit(file: z.output<typeof auditSchema>, dataDir: string): AuditConfig {
  return {
    path: resolve(dataDir, file.path),
    maxSize: file.max_size,
    maxAge: file.max_age,
    keep: file.keep,
    onFailure: file.on_failure,
  }
}
