import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/stores/database.js'
import { VectorSpace } from '../../../src/stores/vector-space.js'
import { Vectors } from '../../../src/stores/vectors.js'

const WIDTH = 4
const BYTES = 8 * WIDTH

/** Vectors alone, of records that are there for them only; room for so many in memory. */
function open(room: number) {
  const db = openDatabase({ path: ':memory:' })
  onTestFinished(() => {
    db.close()
  })
  db.pragma('foreign_keys = OFF')
  const vectors = new Vectors(db, new VectorSpace(db, 'dot'), room * BYTES)
  const query = vectors.comparison.prepare([1, 0, 0, 0])
  const scan = (partitionNo: number) => {
    const found = new Map<number, number>()
    vectors.scan(partitionNo, query, (row, similarity) => found.set(row, similarity))
    return [...found].sort(([left], [right]) => left - right)
  }
  const vector = (first: number) => [first, 1, 1, 1]
  return { vectors, scan, vector, db }
}

test.each([1_000, 40, 16, 1])('with room for %d vectors every scan is whole', (room) => {
  const { vectors, scan, vector } = open(room)
  const expected = new Map<number, [number, number][]>()
  for (let seq = 1; seq <= 120; seq++) {
    const partition = 1 + (seq % 3)
    vectors.set(seq, partition, vector(seq))
    expected.set(partition, [...(expected.get(partition) ?? []), [seq, seq]])
    if (seq % 10 === 0) for (const [no, rows] of expected) expect(scan(no)).toEqual(rows)
  }
})

test('what goes leaves the others, and moves take the vector along', () => {
  const { vectors, scan, vector } = open(1000)
  for (const seq of [1, 2, 3, 4]) vectors.set(seq, 1, vector(seq))
  expect(scan(1)).toHaveLength(4)
  expect(scan(2)).toEqual([])
  vectors.remove(1, 1)
  vectors.remove(1, 1)
  vectors.move(3, 1, 2)
  vectors.move(9, 1, 2)
  vectors.set(2, 1, vector(7))
  expect(scan(1)).toEqual([
    [2, 7],
    [4, 4],
  ])
  expect(scan(2)).toEqual([[3, 3]])
  vectors.remove(4, 1)
  vectors.remove(2, 1)
  expect(scan(1)).toEqual([])
  expect(vectors.of(3)).toEqual(vector(3))
  expect(vectors.of(4)).toBeUndefined()
})

test('a change that is taken back in the file is taken back in memory', () => {
  const { vectors, scan, vector, db } = open(1000)
  vectors.set(1, 1, vector(1))
  expect(scan(1)).toEqual([[1, 1]])
  vectors.done()
  const failing = db.transaction(() => {
    vectors.set(2, 1, vector(2))
    vectors.remove(1, 1)
    throw new Error('no')
  })
  expect(failing).toThrow('no')
  vectors.undone()
  expect(scan(1)).toEqual([[1, 1]])
})
