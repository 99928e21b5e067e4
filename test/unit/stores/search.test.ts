import type { Database } from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/stores/database.js'
import { type PostingList, Postings } from '../../../src/stores/postings.js'
import { type Effort, Search } from '../../../src/stores/search.js'
import { openShelf, type Shelf, select } from '../../../src/stores/shelf.js'
import { remember } from '../../../src/stores/writing.js'
import { HandClock } from '../../support/hand-clock.js'

const EVERYTHING: Effort = { budget: Number.POSITIVE_INFINITY, depth: 1000 }

class CountedPostings extends Postings {
  postingsRead = 0

  override read(list: PostingList, limit: number): readonly number[] {
    const rows = super.read(list, limit)
    this.postingsRead += rows.length
    return rows
  }
}

/** Words of rank r about 1/r as often as the commonest, from a generator that always gives the same. */
function zipfTexts(texts: number, words: number): readonly string[] {
  let state = 1
  const random = (): number => {
    state = (state * 48271) % 2147483647
    return state / 2147483647
  }
  const word = (): string => `w${Math.floor(5000 ** random())}`
  return Array.from({ length: texts }, () => Array.from({ length: words }, word).join(' '))
}

function shelfOf(texts: readonly string[]): Shelf {
  const db: Database = openDatabase({ path: ':memory:' })
  onTestFinished(() => {
    db.close()
  })
  let last = 0
  const settings = { name: 'x', tiers: [{ name: 'all' }], limits: {}, defaultLimit: 8 }
  const services = { clock: new HandClock(), newId: () => `id-${++last}` }
  const shelf = openShelf(db, settings, services)
  fill(shelf, texts)
  return shelf
}

function fill(shelf: Shelf, texts: readonly string[]): void {
  const records = texts.map((content) => ({ content }))
  shelf.db.transaction(() => remember(shelf, { records }))()
}

function searchIn(shelf: Shelf, effort: Effort) {
  const postings = new CountedPostings(shelf.db)
  const search = new Search(postings, shelf.tokenizer, effort)
  const best = (query: string, limit: number) =>
    search
      .rank(shelf.tokenizer.query(query), select(shelf, {}), limit)
      .map(({ one }) => one.row.seq)
  return { best, postings }
}

test('a search that reads an eighth of the postings finds what reading all of them does', () => {
  const shelf = shelfOf(zipfTexts(2000, 40))
  const questions = zipfTexts(12, 12)
  const whole = searchIn(shelf, EVERYTHING)
  const frugal = searchIn(shelf, { budget: 600, depth: 64 })
  let kept = 0
  for (const question of questions) {
    const expected = whole.best(question, 10)
    kept += frugal.best(question, 10).filter((seq) => expected.includes(seq)).length
  }
  expect(frugal.postings.postingsRead).toBeLessThanOrEqual(whole.postings.postingsRead / 8)
  expect(kept).toBeGreaterThanOrEqual(0.9 * 10 * questions.length)
})

test('a budget that yields too few is raised until everything has been read', () => {
  const shelf = shelfOf(
    Array.from({ length: 500 }, (_, n) => `common ${n % 50 === 0 ? 'rare' : ''}`),
  )
  const { best } = searchIn(shelf, { budget: 60, depth: 20 })
  expect(best('common rare', 400)).toHaveLength(400)
  expect(best('common rare', 10)).toEqual([451, 401, 351, 301, 251, 201, 151, 101, 51, 1])
})

test('counts of long lists are remembered only while they are about right', () => {
  const shelf = shelfOf(Array.from({ length: 3000 }, () => 'common'))
  const { best } = searchIn(shelf, { budget: 100_000, depth: 128 })
  expect(best('common', Number.POSITIVE_INFINITY)).toHaveLength(3000)
  fill(
    shelf,
    Array.from({ length: 100 }, () => 'common'),
  )
  expect(best('common', Number.POSITIVE_INFINITY)).toHaveLength(3100)
})
