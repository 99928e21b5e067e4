import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Lane, OwnLane, takeLane } from '../../../src/metering/lane.js'
import { Spool, type SpoolOptions } from '../../../src/metering/spool.js'
import { type SpoolFiles, systemFiles } from '../../../src/metering/spool-files.js'
import { until } from '../../support/waiting.js'

let folder: string
let lanes: Lane[]
let made: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'a2m-spool-'))
  lanes = []
  made = 0
})
afterEach(() => {
  for (const lane of lanes) lane.close()
  rmSync(folder, { recursive: true, force: true })
})

const newId = () => `lane-${++made}`

function take(): Lane {
  const lane = takeLane(join(folder, 'usage'), newId)
  lanes.push(lane)
  return lane
}

interface Told {
  written: number
  lost: number
  readonly failing: (string | undefined)[]
}

function spoolWith(said: Partial<SpoolOptions> = {}): { spool: Spool; told: Told; lane: Lane } {
  const lane = take()
  const told: Told = { written: 0, lost: 0, failing: [] }
  const spool = new Spool({
    lane: () => lane,
    files: systemFiles(),
    durability: 'normal',
    segmentBytes: 1000,
    maxBytes: 100_000,
    maxHeld: 3,
    retryMs: 10,
    monotonic: () => 0,
    events: {
      written: (events) => {
        told.written += events
      },
      lost: (events) => {
        told.lost += events
      },
      failing: (reason) => told.failing.push(reason),
    },
    ...said,
  })
  return { spool, told, lane }
}

function linesIn({ folder: path }: Lane): string[] {
  return readdirSync(path)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(path, name), 'utf8').split('\n').slice(0, -1))
}

/** Files that can be told to fail, each write after some bytes. */
class Faulty implements SpoolFiles {
  readonly #real = systemFiles()
  /** How many bytes of each write are taken; undefined: all. */
  room: number | undefined
  truncates = true
  writes = 0
  syncs = 0
  readonly create = this.#real.create
  readonly close = this.#real.close
  readonly remove = this.#real.remove
  readonly list = this.#real.list
  readonly has = this.#real.has

  write(file: number, bytes: Uint8Array): number {
    this.writes++
    return this.#real.write(file, this.room === undefined ? bytes : bytes.subarray(0, this.room))
  }

  truncate(file: number, size: number): void {
    if (!this.truncates) throw new Error('EIO')
    this.#real.truncate(file, size)
  }

  async sync(file: number): Promise<void> {
    this.syncs++
    await this.#real.sync(file)
  }
}

describe('what is written', () => {
  test('is on disk when append resolves, all of one turn in one write', async () => {
    const files = new Faulty()
    const { spool, told, lane } = spoolWith({ files })
    await Promise.all(['a', 'b', 'c'].map((line) => spool.append(line)))
    expect(linesIn(lane)).toEqual(['a', 'b', 'c'])
    expect(files.writes).toBe(1)
    expect(told.written).toBe(3)
    await spool.append('d')
    expect(linesIn(lane)).toEqual(['a', 'b', 'c', 'd'])
    await spool.end()
  })

  test('goes into a new segment once one is full, and waits until it is removed', async () => {
    const { spool, lane } = spoolWith({ segmentBytes: 4 })
    for (const line of ['one', 'two', 'three']) await spool.append(line)
    const waiting = spool.rotate()
    expect(waiting.map(({ bytes }) => bytes)).toEqual([4, 4, 6])
    expect(spool.state.bytes).toBe(14)
    for (const segment of waiting) spool.remove(segment)
    expect({ bytes: spool.state.bytes, lines: linesIn(lane) }).toEqual({ bytes: 0, lines: [] })
    await spool.end()
  })

  test('with full durability, is flushed before append resolves, many at a time', async () => {
    const files = new Faulty()
    const { spool } = spoolWith({ files, durability: 'full' })
    await spool.append('a')
    expect(files.syncs).toBe(1)
    await Promise.all(['b', 'c', 'd'].map((line) => spool.append(line)))
    expect(files.syncs).toBe(2)
    await spool.end()
  })

  test('an earlier run has left is found by the next, and numbers go on', async () => {
    const first = spoolWith()
    await first.spool.append('left')
    lanes.pop()?.close()
    const second = spoolWith()
    second.spool.start()
    expect(second.spool.rotate()).toHaveLength(1)
    await second.spool.append('new')
    const [old, fresh] = second.spool.rotate()
    expect(fresh?.number ?? 0).toBeGreaterThan(old?.number ?? 0)
    expect(second.lane.id).toBe(first.lane.id)
    expect(linesIn(second.lane)).toEqual(['left', 'new'])
  })
})

describe('a disk that takes nothing', () => {
  test('keeps events in memory up to the bound, says so once, and writes them when it can', async () => {
    const files = new Faulty()
    const { spool, told, lane } = spoolWith({ files })
    await spool.append('before')
    files.room = 2
    for (const line of ['one', 'two', 'three', 'four', 'five']) await spool.append(line)
    expect(told).toMatchObject({ written: 1, lost: 2, failing: ['the disk is full'] })
    expect(spool.state).toMatchObject({ held: 3, failure: 'the disk is full' })
    files.room = undefined
    await until(() => spool.state.failure === undefined)
    await spool.append('after')
    expect(linesIn(lane)).toEqual(['before', 'one', 'two', 'three', 'after'])
    expect(told).toMatchObject({ written: 5, lost: 2, failing: ['the disk is full', undefined] })
    await spool.end()
  })

  test('leaves half a line only at the end of a segment, where it cannot even be cut off', async () => {
    const files = new Faulty()
    const { spool, lane } = spoolWith({ files })
    files.room = 2
    files.truncates = false
    await spool.append('abcdef')
    files.room = undefined
    await until(() => spool.state.failure === undefined)
    const texts = readdirSync(lane.folder)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => readFileSync(join(lane.folder, name), 'utf8'))
    expect(texts.filter((text) => text === 'abcdef\n')).toHaveLength(1)
    expect(texts.filter((text) => text === 'ab').length).toBeGreaterThan(0)
    await spool.end()
  })

  test('loses what is still in memory at the end, and counts it', async () => {
    const files = new Faulty()
    const { spool, told } = spoolWith({ files })
    files.room = 0
    await spool.append('a')
    await spool.end()
    await spool.append('late')
    expect(told.lost).toBe(2)
  })

  test('is also one that has as much as the configuration lets it have', async () => {
    const { spool, told } = spoolWith({ maxBytes: 5 })
    await spool.append('1234')
    await spool.append('5')
    expect(told.failing).toEqual([expect.stringContaining('spool is full')])
    const [segment] = spool.rotate()
    if (segment !== undefined) spool.remove(segment)
    await until(() => spool.state.held === 0)
    expect(told).toMatchObject({ written: 2, lost: 0 })
    await spool.end()
  })

  test('or one where no folder can be made', async () => {
    let there = false
    const { spool, told, lane } = spoolWith({
      lane: () => {
        if (there) return lane
        throw new Error('read-only file system')
      },
    })
    spool.start()
    expect(told.failing).toEqual(['read-only file system'])
    await spool.append('kept')
    there = true
    await until(() => spool.state.failure === undefined)
    expect(linesIn(lane)).toEqual(['kept'])
    await spool.end()
  })
})

describe('a folder that is removed while it is written to', () => {
  function setUp(said: Partial<SpoolOptions> = {}) {
    const path = join(folder, 'own')
    const own = new OwnLane(path, newId)
    const spooling = spoolWith({ lane: () => own.take(), ...said })
    const remove = () => rmSync(path, { recursive: true })
    return { ...spooling, own, path, remove }
  }

  test('is made again, as the same lane, and no number comes twice', async () => {
    const { spool, own, remove, told } = setUp()
    const first = own.take()
    await spool.append('gone')
    const [gone] = spool.rotate()
    remove()
    await spool.append('new')
    const second = own.take()
    expect({ ...told, lines: linesIn(second) }).toEqual({
      written: 2,
      lost: 0,
      failing: [],
      lines: ['new'],
    })
    expect(second.id).toBe(first.id)
    const [, fresh] = spool.rotate()
    expect(fresh).toMatchObject({ number: second.firstSegment, lane: first.id })
    expect(second.firstSegment).toBeGreaterThan(gone?.number ?? Number.POSITIVE_INFINITY)
    expect(gone !== undefined && spool.dropMissing(gone)).toBe(true)
    expect(fresh !== undefined && spool.dropMissing(fresh)).toBe(false)
    expect(spool.state.bytes).toBe(4)
    await spool.end()
    own.close()
    const next = takeLane(second.folder, newId)
    lanes.push(next)
    expect(next.id).toBe(first.id)
    expect(next.firstSegment).toBeGreaterThan(fresh?.number ?? Number.POSITIVE_INFINITY)
  })

  test('keeps what waits in memory until it can be made, and writes it then', async () => {
    const { spool, own, path, remove, told } = setUp()
    spool.start()
    remove()
    writeFileSync(path, 'a file in its place')
    await spool.append('waits')
    expect(spool.state).toMatchObject({ held: 1, failure: expect.stringContaining('own') })
    rmSync(path)
    await until(() => spool.state.failure === undefined)
    expect({ held: spool.state.held, lost: told.lost, lines: linesIn(own.take()) }).toEqual({
      held: 0,
      lost: 0,
      lines: ['waits'],
    })
    await spool.end()
    own.close()
  })

  test('and is another lane by then keeps what waits under the one that it is of', async () => {
    const { spool, own, path } = setUp()
    const first = own.take()
    await spool.append('old')
    spool.rotate()
    rmSync(join(path, 'lane.db'))
    const other = takeLane(path, () => 'other')
    other.close()
    await spool.append('new')
    expect(spool.rotate().map(({ lane }) => lane)).toEqual([first.id, 'other'])
    expect(spool.rotate()[1]?.number).toBeGreaterThan(other.firstSegment)
    await spool.end()
    own.close()
  })
})

test('a folder belongs to one process at a time', () => {
  const first = take()
  expect(() => take()).toThrow('another process is using')
  first.close()
  expect(take().id).toBe(first.id)
})
