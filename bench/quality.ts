/**
 * Whether a collection that is dealt to several stores is found through the gateway as well as in one store:
 *
 *     npm run bench:quality -- --data DIR [--seeds N] [--lexical W] [--window N] [--k N]
 *
 * DIR holds docs.jsonl, queries.jsonl and qrels.tsv, such as Cranfield's. Every split is dealt anew for each of the seeds;
 * figures are the mean over them. Starts everything on free ports of this machine and ends it again.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { type Place, Scratch } from './harness/gateway.js'
import { Processes } from './harness/processes.js'
import { layOut } from './harness/table.js'
import { readCollection } from './quality/collection.js'
import { type Compared, compare, mean, oneStore } from './quality/compare.js'
import type { Quality } from './quality/measures.js'
import { SPLITS, type Split } from './quality/splits.js'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    lexical: { type: 'string', default: '1' },
    window: { type: 'string', default: '20' },
    k: { type: 'string', default: '60' },
  },
})
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1)
const tuning = {
  lexical: Number(values.lexical),
  window: Number(values.window),
  k: Number(values.k),
}

const WAYS: readonly (readonly [keyof Compared, string])[] = [
  ['plain', 'plain fusion'],
  ['voter', 'with the voter'],
  ['fromRecalls', 'voter that learnt from answers alone'],
]

function lines(split: Split, trials: readonly Compared[], one: Quality): string[][] {
  return WAYS.map(([way, name]) => {
    const reached = mean(trials.map((trial) => trial[way]))
    const shares = trials.map((trial) => trial[way].ndcg / one.ndcg)
    const share = reached.ndcg / one.ndcg
    const held = way === 'voter'
    return [
      `${split.name}: ${name}`,
      reached.ndcg.toFixed(4),
      share.toFixed(3),
      `${Math.min(...shares).toFixed(3)} - ${Math.max(...shares).toFixed(3)}`,
      reached.recall.toFixed(4),
      (reached.recall / one.recall).toFixed(3),
      held ? `>= ${split.least.toFixed(2)}` : '',
      held ? (share >= split.least ? 'met' : 'MISSED') : '',
    ]
  })
}

async function run(place: Place, directory: string): Promise<void> {
  const collection = readCollection(directory)
  const { docs, questions } = collection
  process.stdout.write(`${docs.length} documents, ${questions.length} questions\n\n`)
  const one = await oneStore(place, collection)
  const rows = [['one store', one.ndcg.toFixed(4), '', '', one.recall.toFixed(4)]]
  for (const split of SPLITS) {
    const trials: Compared[] = []
    for (const seed of seeds) {
      process.stderr.write(`${split.name}, seed ${seed}\n`)
      trials.push(await compare(place, collection, { split, seed, tuning }))
    }
    rows.push(...lines(split, trials, one))
  }
  const header = ['', 'nDCG@10', 'share', 'from - to', 'recall@10', 'share', 'target', '']
  process.stdout.write(layOut(header, rows))
}

if (values.data === undefined) throw new Error('name the folder of the collection with --data DIR')
execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 2, 2] })
const processes = new Processes()
try {
  await run({ processes, scratch: new Scratch() }, values.data)
} finally {
  await processes.stopAll()
}
