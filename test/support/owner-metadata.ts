import type { Memory } from '../../src/protocol/memory.js'
import { withOwnerMetadata } from '../../src/upstreams/owner-metadata/with-owner-metadata.js'
import type { Reached } from '../../src/upstreams/upstream.js'
import { createMarks } from '../acceptance/subject.js'

/** What an upstream was blamed for, in order. */
export type Blamed = [what: string, count: number][]

/** An upstream that is told owners in metadata, as a federation has it. */
export function ownersInMetadata(memory: Memory): Reached & { readonly blamed: Blamed } {
  const blamed: Blamed = []
  const newId = createMarks('minted')
  const reached = withOwnerMetadata(
    { memory },
    { newId, blame: (what, count) => blamed.push([what, count]) },
  )
  return { ...reached, blamed }
}
