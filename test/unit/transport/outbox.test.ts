import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Parcel } from '../../../src/transport/correlator.js'
import { Outbox } from '../../../src/transport/outbox.js'

class Note implements Parcel {
  readonly text: string
  unwanted = false
  sent = false

  constructor(text: string) {
    this.text = text
  }

  markSent(): void {
    this.sent = true
  }
}

/** A pipe with room for few bytes that takes nothing in until a test lets it. */
function setUp() {
  const written: string[] = []
  let taken = () => {}
  const pipe = new Writable({
    highWaterMark: 8,
    write(chunk: Buffer, _, done) {
      written.push(chunk.toString('utf8'))
      taken = done
    },
  })
  const notes = ['a long message', 'b', 'c'].map((text) => new Note(text))
  const outbox = new Outbox(pipe)
  for (const note of notes) outbox.carry(note)
  const makeRoom = async () => {
    taken()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const sent = () => notes.filter((note) => note.sent).map(({ text }) => text)
  return { outbox, notes, written, makeRoom, sent }
}

test('what there is no room for is held, in order, and not counted as sent', async () => {
  const { written, makeRoom, sent } = setUp()
  expect(sent()).toEqual(['a long message'])
  expect(written).toEqual(['a long message\n'])
  await makeRoom()
  expect(sent()).toEqual(['a long message', 'b', 'c'])
  await makeRoom()
  expect(written).toEqual(['a long message\n', 'b\n', 'c\n'])
})

test('what is given up while it is held is never written', async () => {
  const { notes, written, makeRoom, sent } = setUp()
  for (const note of notes.slice(1, 2)) note.unwanted = true
  await makeRoom()
  expect(written).toEqual(['a long message\n', 'c\n'])
  expect(sent()).toEqual(['a long message', 'c'])
})

test('a closed outbox writes nothing, not even what it held', async () => {
  const { outbox, written, makeRoom, sent } = setUp()
  outbox.close()
  outbox.carry(new Note('late'))
  await makeRoom()
  expect(written).toEqual(['a long message\n'])
  expect(sent()).toEqual(['a long message'])
})
