import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { Background } from '../../../src/federation/ranking/background.js'
import { Backgrounds } from '../../../src/federation/ranking/backgrounds.js'
import type { Terms } from '../../../src/federation/ranking/terms.js'
import { HandClock } from '../../support/hand-clock.js'

function terms(...hashes: number[]): Terms {
  const distinct = [...new Set(hashes)]
  return {
    hashes: Int32Array.from(distinct),
    counts: Uint16Array.from(distinct, (hash) => hashes.filter((one) => one === hash).length),
    length: hashes.length,
  }
}

describe('one background', () => {
  test('it counts in how many texts a term occurs, not how often', () => {
    const background = new Background()
    background.learn(terms(1, 1, 1, 2))
    background.learn(terms(1, -1))
    const { texts, averageLength, of } = background.snapshot()
    expect([texts, averageLength]).toEqual([2, 3])
    expect([1, 2, -1, 7].map(of)).toEqual([2, 1, 1, 0])
  })

  test('an empty one knows nothing', () => {
    const { texts, averageLength, of } = new Background().snapshot()
    expect([texts, averageLength, of(1)]).toEqual([0, 0, 0])
  })

  test('a snapshot does not change with what is learnt after it', () => {
    const background = new Background()
    background.learn(terms(1))
    const before = background.snapshot()
    background.learn(terms(1, 2))
    expect([before.texts, before.of(1), before.of(2)]).toEqual([1, 1, 0])
  })

  test('it comes back from its bytes as it was', () => {
    const text = fc.array(fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }), { maxLength: 12 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), (texts) => {
        const background = new Background()
        for (const hashes of texts) background.learn(terms(...hashes))
        expect(background.changed).toBe(texts.length > 0)
        const restored = Background.read(background.write())
        expect([background.changed, restored.changed]).toEqual([false, false])
        const [before, after] = [background.snapshot(), restored.snapshot()]
        expect([after.texts, after.averageLength]).toEqual([before.texts, before.averageLength])
        for (const hash of texts.flat()) expect(after.of(hash)).toBe(before.of(hash))
      }),
    )
  })

  test.each([0, 1, 11, 13, 19, 21])('%i bytes are another shape, and it learns anew', (length) => {
    const restored = Background.read(new Uint8Array(length).fill(255))
    expect(restored.texts).toBe(0)
    restored.learn(terms(1))
    expect(restored.snapshot().of(1)).toBe(1)
  })

  test('it is bounded, and keeps what is common before what was seen once', () => {
    const background = new Background()
    for (let text = 0; text < 40; text++) {
      const rare = Array.from({ length: 5000 }, (_, n) => 1000 + text * 5000 + n)
      const hashes = Int32Array.from([1, ...rare])
      background.learn({ hashes, counts: new Uint16Array(hashes.length).fill(1), length: 5001 })
      expect(background.write().length).toBeLessThanOrEqual(12 + 65_536 * 8)
    }
    const { texts, averageLength, of } = background.snapshot()
    expect(of(1)).toBeGreaterThan(1)
    expect(of(1)).toBeLessThanOrEqual(texts)
    expect(averageLength).toBeGreaterThan(4000)
  })
})

describe('the backgrounds of all owners', () => {
  let clock: HandClock
  let kept: Map<string, Uint8Array>
  let backgrounds: Backgrounds
  beforeEach(() => {
    clock = new HandClock()
    kept = new Map()
    backgrounds = restarted()
  })

  function restarted(): Backgrounds {
    const keeper = {
      read: (owner: string) => kept.get(owner),
      write: (owner: string, bytes: Uint8Array) => void kept.set(owner, bytes),
    }
    return new Backgrounds(keeper, clock, () => {})
  }

  const learn = (owner: string, times: number, hash = 1) => {
    for (let n = 0; n < times; n++) backgrounds.learn(owner, terms(hash))
  }

  test('one question keeps its snapshot, whatever is learnt, until it is renewed', () => {
    const first = backgrounds.snapshotFor('alice', 'why')
    learn('alice', 100)
    clock.pass(59_999)
    expect(backgrounds.snapshotFor('alice', 'why')).toBe(first)
    clock.pass(1)
    expect(backgrounds.snapshotFor('alice', 'why').texts).toBe(100)
  })

  test('a new question has what was learnt, as soon as that has doubled', () => {
    learn('alice', 8)
    expect(backgrounds.snapshotFor('alice', '1').texts).toBe(8)
    learn('alice', 7)
    expect(backgrounds.snapshotFor('alice', '2').texts).toBe(8)
    learn('alice', 1)
    expect(backgrounds.snapshotFor('alice', '3').texts).toBe(16)
    learn('alice', 1)
    clock.pass(60_000)
    expect(backgrounds.snapshotFor('alice', '4').texts).toBe(17)
  })

  test('what one owner says is nothing to another', () => {
    learn('alice', 10)
    for (const owner of ['bob', '', 'alice ', 'alic']) {
      expect(backgrounds.snapshotFor(owner, 'why')).toMatchObject({ texts: 0 })
    }
    expect(backgrounds.snapshotFor('alice', 'ewhy').texts).toBe(10)
    expect(backgrounds.snapshotFor('alicee', 'why').texts).toBe(0)
  })

  test('what was learnt is kept when it closes, and read by the next', () => {
    learn('alice', 3)
    learn('bob', 2)
    backgrounds.close()
    backgrounds = restarted()
    expect(backgrounds.snapshotFor('alice', 'why').of(1)).toBe(3)
    expect(backgrounds.snapshotFor('bob', 'why').texts).toBe(2)
  })

  test('an owner that has to make room for others is kept and comes back', () => {
    learn('alice', 3)
    for (let n = 0; n < 64; n++) learn(`owner ${n}`, 1)
    expect(kept.has('alice')).toBe(true)
    learn('alice', 1)
    expect(backgrounds.snapshotFor('alice', 'why').texts).toBeGreaterThanOrEqual(3)
    backgrounds.close()
    backgrounds = restarted()
    expect(backgrounds.snapshotFor('alice', 'why').texts).toBe(4)
  })

  test('a disk that takes nothing is told of, and no question fails for it', () => {
    const problems: string[] = []
    const full = () => {
      throw new Error('the disk is full')
    }
    const stuck = new Backgrounds({ read: () => undefined, write: full }, clock, (problem) =>
      problems.push(problem),
    )
    for (let n = 0; n < 2; n++) stuck.learn('alice', terms(1))
    expect(stuck.snapshotFor('alice', 'why').texts).toBe(2)
    expect(problems).toEqual(['the disk is full'])
  })
})
