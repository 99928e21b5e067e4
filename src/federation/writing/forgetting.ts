import { batches, type Located } from '../locate.js'
import type { Chronicle, OwnersShare, Page } from '../log/chronicle.js'
import { placedShares } from '../moving/tally.js'

/** What one turn of a forget has deleted: how many distinct records, and which. */
export interface Erased {
  readonly gone: number
  readonly records: readonly Located[]
}

/** Tells of one forget, which may take several turns and is one event all the same. */
export class Forgetting {
  readonly #chronicle: Chronicle
  readonly #pages: Page[] = []
  readonly #shares: OwnersShare<readonly string[]>[] = []

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  /** Runs `erase`, which deletes these records. Where it throws, what it did is left to recovery. */
  async turn(located: readonly Located[], erase: () => Promise<Erased>): Promise<number> {
    if (located.length === 0) return 0
    const page = this.#chronicle.begin({ kind: 'forgotten', ids: sharesOf(located) })
    try {
      const { gone, records } = await erase()
      this.#pages.push(page)
      this.#shares.push(...placedShares(records))
      return gone
    } catch (thrown) {
      page.unknown()
      throw thrown
    }
  }

  /** The last page has it all before the others are closed, so that a crash in between repeats nothing and loses nothing. */
  end(): void {
    const [last, ...others] = this.#pages.toReversed()
    last?.done({ kind: 'forgotten', shares: this.#shares })
    for (const page of others) page.done()
  }
}

function sharesOf(located: readonly Located[]): OwnersShare<readonly string[]>[] {
  return batches(located).map(({ owner, records }) => ({
    owner,
    part: records.map(({ record }) => record.id),
  }))
}
