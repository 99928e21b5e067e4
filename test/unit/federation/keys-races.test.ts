import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Memory } from '../../../src/protocol/memory.js'
import { systemClock } from '../../../src/protocol/time.js'
import { embeddedStore, type TestFederation, temporaryFolder } from '../../support/federation.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'
import { Between, caller, keyedMemory, overTiers } from '../../support/keyed.js'

let folder: ReturnType<typeof temporaryFolder>
let fixture: TestFederation
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await fixture.close()
  folder.remove()
})

const NAMES = ['a', 'b', 'c', 'd'] as const
const patient = () => anyContext({ deadline: systemClock.monotonic() + 60_000 })

const builtIn = (name: string) =>
  embeddedStore({ path: join(folder.path, `${name}.db`), tiers: [name] })

const KINDS: [string, (name: string) => Memory][] = [
  ['stores of others', () => keyedMemory()],
  ['built-in stores', builtIn],
  ['both', (name) => ('ab'.includes(name) ? builtIn(name) : keyedMemory())],
]

/** Answers in another order than it was asked. */
function shuffled(inner: Memory): Memory {
  const between = new Between(inner)
  let calls = 0
  between.around = async (_method, _params, next) => {
    for (let turn = (calls++ * 7) % 5; turn > 0; turn--) await new Promise(setImmediate)
    return next()
  }
  return between
}

async function four(make: (name: string) => Memory) {
  const upstreams = NAMES.map((name) => [name, { memory: shuffled(make(name)) }] as const)
  fixture = await overTiers(Object.fromEntries(upstreams))
  return caller(fixture, patient)
}

describe.each(KINDS)('over four %s', { timeout: 60_000 }, (_, make) => {
  test('fifty writers on one key leave one record at revision 49', async () => {
    const { remember, fetch, timeline } = await four(make)
    const writers = Array.from({ length: 50 }, (__, n) => remember({ key: 'k', content: `${n}` }))
    const ids = new Set((await Promise.all(writers)).flat())
    expect(ids.size).toBe(1)
    expect(await fetch('k')).toMatchObject({ id: [...ids][0], revision: 49 })
    expect(await timeline()).toHaveLength(1)
  })

  test('as they do where many of them name other tiers', async () => {
    const { remember, fetch, timeline } = await four(make)
    const tiers = [undefined, 'a', 'b', undefined, 'c', 'd']
    const writers = Array.from({ length: 50 }, (__, n) => {
      const tier = tiers[n % tiers.length]
      return remember({ key: 'k', content: `${n}`, ...(tier && { tier }) })
    })
    const ids = new Set((await Promise.all(writers)).flat())
    expect(ids.size).toBe(1)
    expect(await fetch('k')).toMatchObject({ id: [...ids][0], revision: 49 })
    expect(await timeline()).toHaveLength(1)
  })

  test('no write is lost to a move that is under way, and no fetch finds nothing', async () => {
    const { remember, fetch, promote, timeline } = await four(make)
    const [id = ''] = await remember({ key: 'k', content: 'first' }, { content: 'x', group: 'g' })
    const work: Promise<unknown>[] = []
    const fetched: Promise<unknown>[] = []
    for (let n = 0; n < 20; n++) {
      work.push(remember({ key: 'k', content: `${n}`, group: 'g' }))
      work.push(promote({ ids: [id], tier: NAMES[n % 4] }))
      fetched.push(fetch('k'))
    }
    await Promise.all(work)
    expect(await Promise.all(fetched)).not.toContain(null)
    expect(await fetch('k')).toMatchObject({ id, revision: 20 })
    expect(await timeline()).toHaveLength(2)
  })

  test('different keys and owners do not wait for each other’s numbers', async () => {
    await four(make)
    const owners = ['alice', 'bob'].map((owner) =>
      caller(fixture, () => ownerContext(owner, { deadline: systemClock.monotonic() + 60_000 })),
    )
    const writes = owners.flatMap(({ remember }) =>
      ['x', 'y'].flatMap((key) =>
        Array.from({ length: 10 }, (__, n) =>
          remember({ key, content: `${n}`, tier: NAMES[n % 4] }),
        ),
      ),
    )
    await Promise.all(writes)
    for (const { fetch, timeline } of owners) {
      for (const key of ['x', 'y']) expect(await fetch(key)).toMatchObject({ revision: 9 })
      expect(await timeline()).toHaveLength(2)
    }
  })
})
