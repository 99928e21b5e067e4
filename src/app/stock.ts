import type { Config } from '../config/config.js'
import type { Federation } from '../federation/federation.js'
import { measureEntries } from '../metering/measure.js'
import { Nightly } from '../metering/nightly.js'
import { Stock, type TierStock } from '../metering/stock.js'
import { scopeOf } from '../metering/whose.js'
import { messageOf } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Tier } from '../protocol/methods.js'
import type { Owner } from '../protocol/scope.js'
import type { Clock } from '../protocol/time.js'
import { internalContext } from '../upstreams/upstream.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import type { Metering } from './metering.js'

export interface StockParts {
  /** The configuration as if this federation were the only one. */
  readonly config: Config
  readonly federation: Federation
  readonly metering: Metering
  readonly deps: AppDeps
  readonly closers: Closers
}

/** The longest that one look at an owner's records may take, in ms. */
const PATIENCE_MS = 30_000
/** Records of one owner in one tier whose contents are looked at; of more, the newest stand for all. */
const SAMPLE = 1000

/** Keeps count of what owners have in one federation: after their writes, and closely once a night. */
export function openStock({ config, federation, metering, deps, closers }: StockParts): Stock {
  const source = config.name
  const { now } = deps.clock
  const stock = new Stock({
    source,
    now,
    count: (owner, how) => countTiers(federation, owner, { how, clock: deps.clock }),
    note: metering.note,
    defaultTier: () => federation.report().layout.tiers[0]?.name,
    failed: (reason) => metering.uncounted(source, reason),
  })
  const task = () => countEverybody(stock, metering, source)
  const hour = config.usage?.countAt
  const nightly =
    hour === undefined ? undefined : new Nightly({ hour, now, random: deps.random, task })
  nightly?.start()
  closers.add(() => Promise.all([stock.end(), nightly?.end()]))
  return stock
}

async function countEverybody(stock: Stock, metering: Metering, source: string): Promise<void> {
  try {
    await stock.countAll(await metering.owners(source))
  } catch (thrown) {
    metering.uncounted(source, messageOf(thrown))
  }
}

interface Looking {
  readonly how: 'closely' | 'records'
  readonly clock: Clock
}

/** As describe tells it to somebody who may act for that owner alone. A tier that cannot be looked into keeps its last count. */
async function countTiers(
  federation: Federation,
  owner: Owner,
  { how, clock }: Looking,
): Promise<readonly TierStock[]> {
  const context = contextFor(owner, clock)
  const { tiers = [] } = await federation.call('memory/describe', {}, context)
  const counts: TierStock[] = []
  for (const tier of tiers.filter(({ stale }) => stale !== true)) {
    const characters = how === 'closely' ? await charactersIn(federation, tier, context) : undefined
    counts.push({ tier: tier.name, records: tier.count, characters })
  }
  return counts
}

async function charactersIn(
  federation: Federation,
  { name, count }: Tier,
  context: Context,
): Promise<number> {
  if (count === 0) return 0
  const { limits } = federation.report().promised
  const limit = Math.min(SAMPLE, limits.max_recall_limit ?? SAMPLE)
  const { records } = await federation.call('memory/timeline', { tier: name, limit }, context)
  const { characters } = measureEntries(records)
  const seen = records.length
  return seen === 0 || seen >= count ? characters : Math.round((characters * count) / seen)
}

function contextFor(owner: Owner, clock: Clock): Context {
  const context = internalContext(clock.monotonic() + PATIENCE_MS)
  return { ...context, caller: { ...context.caller, name: 'metering', scope: scopeOf(owner) } }
}
