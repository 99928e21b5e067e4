import { A2mError, Fault } from '../protocol/errors.js'
import { type Lab, ownerParam, toldError } from './lab.js'
import type { ProbeReport } from './report.js'

/** How often what is found to be left is forgotten again; a page of it at a time. */
const ROUNDS = 20

/** Forgets all that was or may have been written, by id and then by what still bears the mark, and tells what is left. */
export async function cleanUp(lab: Lab): Promise<ProbeReport['left']> {
  const owners = [...new Set([lab.owner, lab.other])]
  const left: string[] = []
  let reason = ''
  for (const owner of owners) {
    try {
      await forget(lab, idsOf(lab, owner), owner)
      const found = await sweep(lab, owner)
      if (found.length > 0) reason = 'it said that they were forgotten, and still gives them'
      left.push(...found)
    } catch (thrown) {
      if (!(thrown instanceof A2mError || thrown instanceof Fault)) throw thrown
      left.push(...idsOf(lab, owner))
      reason = toldError(thrown)
    }
  }
  return left.length === 0 ? undefined : { ids: left, reason }
}

function idsOf(lab: Lab, owner: string | undefined): string[] {
  return [...lab.written()].filter(([, whose]) => whose === owner).map(([id]) => id)
}

async function forget(lab: Lab, ids: readonly string[], owner: string | undefined): Promise<void> {
  if (ids.length > 0) await lab.call('memory/forget', { ids: [...ids], ...ownerParam(owner) })
}

/** What still bears the mark after as many tries as there are pages of it. */
async function sweep(lab: Lab, owner: string | undefined): Promise<readonly string[]> {
  let before = ''
  for (let round = 0; round < ROUNDS; round++) {
    const mine = (await lab.find(undefined, owner)).filter((record) => lab.isMine(record))
    const ids = mine.map(({ id }) => id)
    if (ids.length === 0 || ids.join('\n') === before) return ids
    before = ids.join('\n')
    await forget(lab, ids, owner)
  }
  return (await lab.find(undefined, owner)).map(({ id }) => id)
}
