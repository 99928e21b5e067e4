import type { CryptoKey } from 'jose'
import { expect, test } from 'vitest'
import { KeySet } from '../../../src/identity/key-set.js'
import { HandClock } from '../../support/hand-clock.js'

const MINUTE = 60_000

class NoMatch extends Error {
  readonly code = 'ERR_JWKS_NO_MATCHING_KEY'
}

/** A key set whose source is a list of names, and which can fail or be slow. */
function setUp(...published: string[]) {
  const clock = new HandClock()
  const source = { kids: published, down: false, reads: 0, failures: [] as string[] }
  let gate: Promise<void> | undefined
  const keys = new KeySet({
    async read() {
      source.reads++
      const kids = source.kids.join(' ')
      await gate
      if (source.down) throw new Error('is down')
      return kids
    },
    parse: (text) => async (header) => {
      const kid = text.split(' ').find((one) => one === header.kid)
      if (kid === undefined) throw new NoMatch()
      return kid as unknown as CryptoKey
    },
    clock,
    cache: 10 * MINUTE,
    stale: 60 * MINUTE,
    cooldown: 30_000,
    events: { read: () => {}, failed: (_, left) => source.failures.push(left) },
  })
  const has = (kid: string): Promise<boolean> =>
    keys.keyFor({ alg: 'EdDSA', kid }).then(
      () => true,
      () => false,
    )
  /** Readings wait until the function is called that this gives. */
  const hold = (): (() => void) => {
    let open = (): void => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    return open
  }
  return { clock, source, keys, has, hold }
}

/** Lets readings in the background end. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('keys are read once, and believed for the time of the cache', async () => {
  const { clock, source, has } = setUp('a')
  expect(await Promise.all([has('a'), has('a'), has('a')])).toEqual([true, true, true])
  clock.pass(7 * MINUTE)
  expect(await has('a')).toBe(true)
  expect(source.reads).toBe(1)
})

test('late in their time they are read anew in the background, and nobody waits', async () => {
  const { clock, source, keys, has, hold } = setUp('a')
  await has('a')
  clock.pass(9 * MINUTE)
  const open = hold()
  expect(await has('a')).toBe(true)
  expect(keys.standing).toBeDefined()
  expect(source.reads).toBe(2)
  open()
  await settled()
  clock.pass(7 * MINUTE)
  expect(await has('a')).toBe(true)
  expect(source.reads).toBe(2)
})

test('a new key works at once, even right after a reading', async () => {
  const { source, has } = setUp('a')
  expect(await has('a')).toBe(true)
  source.kids = ['a', 'b']
  expect(await has('b')).toBe(true)
  source.kids = ['a', 'b', 'c']
  expect(await has('c')).toBe(true)
  expect(source.reads).toBe(3)
})

test('a removed one stops within the time of the cache, and what stands on the keys is told by their number', async () => {
  const { clock, source, keys, has } = setUp('a', 'b')
  await has('a')
  const before = keys.standing
  source.kids = ['b']
  clock.pass(10 * MINUTE)
  expect(keys.standing).toBeUndefined()
  expect(await has('a')).toBe(false)
  expect(await has('b')).toBe(true)
  expect(keys.standing).not.toBe(before)
})

test('the same keys read again are the same keys', async () => {
  const { clock, keys, has } = setUp('a')
  await has('a')
  const before = keys.standing
  clock.pass(10 * MINUTE)
  await has('a')
  expect(keys.standing).toBe(before)
})

test('a storm of keys that are not there asks once in a cool-down, one reading at a time', async () => {
  const { clock, source, has } = setUp('a')
  await has('a')
  const storm = (): Promise<boolean[]> =>
    Promise.all(Array.from({ length: 200 }, (_, index) => has(`no-${index}`)))
  expect((await storm()).includes(true)).toBe(false)
  await storm()
  expect(source.reads).toBe(2)
  clock.pass(29_999)
  await storm()
  expect(source.reads).toBe(2)
  clock.pass(1)
  source.kids = ['a', 'b']
  expect(await has('b')).toBe(true)
  expect(source.reads).toBe(3)
})

test('while they cannot be read the last good ones are used, for the stated time and no longer', async () => {
  const { clock, source, has } = setUp('a')
  await has('a')
  source.down = true
  clock.pass(10 * MINUTE)
  expect(await has('a')).toBe(true)
  clock.pass(59 * MINUTE)
  expect(await has('a')).toBe(true)
  await settled()
  clock.pass(MINUTE)
  expect(await has('a')).toBe(false)
  expect(source.failures.at(0)).toBe('last_good')
  expect(source.failures.at(-1)).toBe('none')
  source.down = false
  clock.pass(30_000)
  expect(await has('a')).toBe(true)
})

test('once a reading has failed nobody waits for the next, which come ever more rarely', async () => {
  const { clock, source, keys, has, hold } = setUp('a')
  await has('a')
  source.down = true
  clock.pass(10 * MINUTE)
  await has('a')
  expect(source.reads).toBe(2)
  const open = hold()
  clock.pass(1000)
  expect(await has('a')).toBe(true)
  expect(source.reads).toBe(3)
  open()
  await settled()
  const reads = []
  for (let second = 0; second < 120; second++) {
    clock.pass(1000)
    expect(keys.standing).toBeDefined()
    await settled()
    reads.push(source.reads)
  }
  expect(source.reads).toBeLessThan(3 + 9)
  expect(reads.at(-1)).toBeGreaterThan(3 + 4)
})

test('without keys tokens are refused, and a set that was down at the start is found again', async () => {
  const { clock, source, keys, has } = setUp('a')
  source.down = true
  await keys.ready()
  expect(await Promise.all(Array.from({ length: 50 }, () => has('a')))).not.toContain(true)
  expect(source.reads).toBe(1)
  expect(keys.reason).toBe('is down')
  source.down = false
  clock.pass(1000)
  expect(await has('a')).toBe(true)
})

test('keys that took longer to read than they are believed are good for those who waited for them', async () => {
  const { clock, keys, has, hold } = setUp('a')
  const open = hold()
  const waiting = has('a')
  clock.pass(11 * MINUTE)
  open()
  expect(await waiting).toBe(true)
  expect(keys.standing).toBeUndefined()
})
