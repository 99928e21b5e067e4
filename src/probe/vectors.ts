import { CODES } from '../protocol/errors.js'
import { type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

/** That vectors are kept to the bit, found, told only when asked for, and refused in another width (§3.7). */
export async function probeVectors(lab: Lab, claim: Claim, width: number): Promise<void> {
  const step = 'embeddings'
  const owned = ownerParam(lab.owner)
  const [near, far] = [vector(width, 0), vector(width, 1)]
  const ids = await lab.write(step, [
    { content: 'near', embedding: near },
    { content: 'far', embedding: far },
  ])
  const recall = async (more: object) =>
    (await lab.call('memory/recall', { ...lab.of(step), ...more })).records
  const bare = await recall({})
  claim(
    'vectors are not told unless asked for',
    true,
    bare.every((one) => one.embedding === undefined),
  )
  const full = (await recall({ embeddings: true })).find(({ id }) => id === ids[0])
  claim('a vector comes back as it was', near, full?.embedding)
  if (width > 1) {
    claim('the nearest is the first', ids[0], (await recall({ embedding: near }))[0]?.id)
    claim('of either', ids[1], (await recall({ embedding: far }))[0]?.id)
  }
  const wide = vector(width + 1, 0)
  const mismatch = CODES.EMBEDDING_MISMATCH
  const records = [lab.entry(step, { content: 'wide', embedding: wide })]
  claim(
    'a vector of another width is refused',
    mismatch,
    await lab.codeOf('memory/remember', { records, ...owned }),
  )
  claim(
    'in a query, too',
    mismatch,
    await lab.codeOf('memory/recall', { embedding: wide, ...owned }),
  )
  const { embeddings } = await lab.call('memory/describe', owned)
  claim('and changes no width', width, embeddings?.dimensions)
}

/** Of length 1, near one axis, with digits that a float of 32 bits would lose. */
function vector(width: number, axis: number): number[] {
  const raw = Array.from({ length: width }, (_, place) => (place === axis % width ? 1 : 0.01 / 3))
  const length = Math.hypot(...raw)
  return raw.map((value) => value / length)
}
