/** Where keys stand that are at or beneath a prefix: keys are paths, so `wf/1` and `wf/1/` cover `wf/1` and `wf/1/x`, not `wf/10`. */
export interface KeyRange {
  /** The one key at the prefix. */
  readonly at: string
  /** Every key beneath it begins with this. */
  readonly beneath: string
}

/** Reads a prefix, which is not empty; a slash at its end says nothing more. */
export function keyRange(prefix: string): KeyRange {
  const at = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  return { at, beneath: `${at}/` }
}

/** Whether a key is in the range; a record without a key is in none. */
export function inKeyRange(key: string | null | undefined, { at, beneath }: KeyRange): boolean {
  return typeof key === 'string' && (key === at || key.startsWith(beneath))
}
