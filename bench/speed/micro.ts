/** Fusion and the voter alone, as they are built. Answers any message with what was measured; times in ms. */
import { Backgrounds } from '../../src/federation/ranking/backgrounds.js'
import { fuse } from '../../src/federation/ranking/fuse.js'
import { Lexical } from '../../src/federation/ranking/lexical.js'
import { TermCache } from '../../src/federation/ranking/terms.js'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { systemClock } from '../../src/protocol/time.js'
import { Tokenizer } from '../../src/text/tokenizer.js'
import { identityOf } from '../../src/upstreams/translate.js'
import { Prose } from './prose.js'

/** Times in ms; `parse` is what JSON.parse takes for the same records. */
export interface MicroResult {
  readonly fusion: { readonly times: readonly number[]; readonly parse: readonly number[] }
  readonly voter: {
    readonly cold: readonly number[]
    readonly cached: readonly number[]
    readonly parse: readonly number[]
  }
}

const LISTS = 32
const LENGTH = 1000
const CANDIDATES = 60
const CHARACTERS = 1000
const WRITTEN_AT = '2026-03-01T09:30:00.000Z'
const prose = new Prose(99)

function timed(times: number, work: (turn: number) => unknown): number[] {
  return Array.from({ length: times }, (_, turn) => {
    const start = performance.now()
    work(turn)
    return performance.now() - start
  })
}

function record(id: string, content: string): MemoryRecord {
  return { id, content, created_at: WRITTEN_AT, owner: 'bench', role: 'memory' }
}

/** A third of each list's records are in the next list too. */
function listsOf(turn: number) {
  return Array.from({ length: LISTS }, (_, list) => ({
    name: `list${list}`,
    qualify: (id: string) => `list${list}:${id}`,
    arrived: Array.from({ length: LENGTH }, (_, place) => {
      const number = list * LENGTH + place - (place % 3 === 0 ? LENGTH : 0)
      const told = record(`${turn}-${number}`, `record ${number}`)
      return { record: told, at: WRITTEN_AT, identity: identityOf(told) }
    }),
  }))
}

/** Lists are made as they are needed, so that no more is held than a gateway would. */
function measureFusion(): MicroResult['fusion'] {
  const options = { k: 60, asked: LISTS, voters: [] }
  const times = Array.from({ length: 40 }, (_, turn) => {
    const lists = listsOf(turn)
    return timed(1, () => fuse(lists, options))
  })
  const text = JSON.stringify(listsOf(0))
  return { times: times.slice(20).flat(), parse: timed(20, () => JSON.parse(text)) }
}

function measureVoter(): MicroResult['voter'] {
  const keeper = { read: () => undefined, write: () => {} }
  const backgrounds = new Backgrounds(keeper, systemClock, () => {})
  const lexical = new Lexical({ weight: 1, terms: new TermCache(new Tokenizer()), backgrounds })
  const batches = Array.from({ length: 400 }, () =>
    Array.from({ length: CANDIDATES }, (_, place) => record(`${place}`, prose.text(CHARACTERS))),
  )
  const questions = batches.map(() => prose.question())
  const vote = (turn: number): unknown =>
    lexical.voter('bench', questions[turn] ?? '')?.rank(batches[turn] ?? [])
  timed(200, vote)
  const cold = timed(200, (turn) => vote(turn + 200))
  timed(200, (turn) => vote(turn + 200))
  const cached = timed(200, (turn) => vote(turn + 200))
  const text = JSON.stringify(batches[0])
  return { cold, cached, parse: timed(200, () => JSON.parse(text)) }
}

process.on('message', () => {
  process.send?.({ fusion: measureFusion(), voter: measureVoter() } satisfies MicroResult)
})
