import { type Lab, ownerParam, toldError } from './lab.js'
import type { ProbeReport } from './report.js'

/** How often what is found to be left is forgotten again; a page of it at a time. */
const ROUNDS = 20

/**
 * Forgets all that was or may have been written, by id and then by what still bears the mark, and tells what is left. Owners are
 * gone through twice, since a server may show one the records of another.
 */
export async function cleanUp(lab: Lab): Promise<ProbeReport['left']> {
  await through(lab, forgetWritten)
  const { ids, reason } = await through(lab, sweep)
  return ids.size === 0 ? undefined : { ids: [...ids], reason }
}

type Work = (lab: Lab, owner: string | undefined) => Promise<readonly string[]>

/** What is left of each owner's records; all of them where it cannot be told. */
async function through(lab: Lab, work: Work) {
  const ids = new Set<string>()
  let reason = 'it says that they are forgotten, and still gives them'
  for (const owner of new Set([lab.owner, lab.other])) {
    const left = await work(lab, owner).catch((thrown: unknown) => {
      reason = toldError(thrown)
      return idsOf(lab, owner)
    })
    for (const id of left) ids.add(id)
  }
  return { ids, reason }
}

async function forgetWritten(lab: Lab, owner: string | undefined): Promise<readonly string[]> {
  await forget(lab, idsOf(lab, owner), owner)
  return []
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
