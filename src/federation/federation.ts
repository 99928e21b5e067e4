import type { EventsConfig, FederationConfig } from '../config/config.js'
import { digestOffer, withDigest } from '../digest/with-digest.js'
import { type Changes, Listeners } from '../events/listeners.js'
import type { RoleDefinitions } from '../protocol/access.js'
import { withContract } from '../protocol/contract.js'
import { A2mError } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { Description, Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import { type OwnerMismatch, withScope } from '../protocol/scope.js'
import type { Served } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'
import type { State } from '../state/state.js'
import type { Tokenizer } from '../text/tokenizer.js'
import type { Registry } from '../upstreams/registry.js'
import { internalContext } from '../upstreams/upstream.js'
import { createContracts } from './access/contracts.js'
import { withAccess } from './access/with-access.js'
import { PartsByReach } from './access/within-reach.js'
import { digestOf, type Engines, turnedOff } from './digesting.js'
import { type Layout, layOut } from './layout.js'
import { KeyedLock } from './locks.js'
import { createPages } from './log/chronicle.js'
import { Echoes } from './log/echoes.js'
import { Recovery } from './log/recovery.js'
import { Tail } from './log/tail.js'
import { consolidate } from './moving/consolidate.js'
import { promote } from './moving/promote.js'
import { closeSession } from './moving/session-close.js'
import type { Handler, Parts } from './parts.js'
import { type Promised, promise } from './promise.js'
import { Backgrounds } from './ranking/backgrounds.js'
import { Lexical } from './ranking/lexical.js'
import { TermCache } from './ranking/terms.js'
import type { Blame } from './reading/arrivals.js'
import { createKnownCounts } from './reading/counts.js'
import { describe, publicProfile } from './reading/describe.js'
import { readEvents, unsubscribe } from './reading/events.js'
import { fetch } from './reading/fetch.js'
import { recall } from './reading/recall.js'
import { listSessions } from './reading/session-list.js'
import { timeline } from './reading/timeline.js'
import { Trust } from './trust.js'
import { Width, withWidth } from './width.js'
import { forget } from './writing/forget.js'
import { reinforce } from './writing/reinforce.js'
import { remember } from './writing/remember.js'
import { Uses } from './writing/use.js'

/** What a federation does that somebody may want to count or log. */
export interface FederationEvents {
  readonly blame: Blame
  readonly fusion: Parts['observeFusion']
  /** Something that was under way at a stop could not be finished yet; for people. */
  readonly unfinished: (problem: string) => void
  /** What keeps an upstream's events from being told, or has left a gap in them; for people. */
  readonly tail: (upstream: string, problem: string) => void
}

export interface FederationOptions {
  readonly name: string
  readonly config: FederationConfig
  readonly log: EventsConfig
  readonly registry: Registry
  readonly state: State
  readonly tokenizer: Tokenizer
  readonly clock: Clock
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number
  readonly newId: () => string
  readonly ownerMismatch: OwnerMismatch
  /** `kept` where roles may bound what callers see: events are then kept with where their records are. */
  readonly places?: 'kept' | 'untold'
  readonly engines?: Engines
  readonly events: FederationEvents
  /** Called between the steps of a move, by name. */
  readonly step?: (name: string) => void
}

/** Many memories as one, ready to be served. */
export interface Federation extends Served {
  /** Wakes when something was added to the event log. */
  readonly changes: Changes
  /** What may be told to anybody, without counts (§8.3.3), and without the tiers that are hidden from one of the roles. */
  publicProfile(roles?: RoleDefinitions): Description
  /** What it is made of and what it may promise at this moment, for `check`, health and logs. */
  report(): { readonly layout: Layout; readonly promised: Promised; readonly registry: Registry }
}

/** How long a start waits for upstreams to describe themselves, in ms; slower ones join when they do. */
const START_PATIENCE = 500
/** How long a call that comes before the first descriptions waits for them, in ms. */
const COLD_PATIENCE = 2_000
/** The time that one call of a recovery may take, in ms. */
const RECOVERY_PATIENCE = 30_000

/**
 * Makes a federation over upstreams that are open already, and finishes what an earlier run left open where it can. Closing it
 * leaves the registry and the state, which it did not open, to their owner.
 */
export async function createFederation(options: FederationOptions): Promise<Federation> {
  const { registry, ownerMismatch, events, log, clock, random, tokenizer, engines = {} } = options
  await registry.settled(START_PATIENCE)
  const changes = new Listeners()
  const parts = createParts(options, () => changes.wake())
  const context = () => internalContext(clock.monotonic() + RECOVERY_PATIENCE)
  const recovery = new Recovery(parts, context, events.unfinished)
  await recovery.start()
  const tail = log.tail && new Tail({ parts, context, random, problem: events.tail, ...log.tail })
  tail?.start()
  const settled = () => whenKnown(parts, registry)
  const digest = digestOf(engines, { tokenizer, parts, settled })
  const reached = new PartsByReach(parts)
  const digesting = withDigest(methods(reached, settled), digest)
  const inner = withScope(withAccess(digesting, { parts: reached, settled }), ownerMismatch)
  const served = withContract(inner, createContracts(parts))
  return {
    ...served,
    changes,
    publicProfile: (roles) => ({ ...publicProfile(parts, roles), ...digestOffer(digest) }),
    report: () => ({ layout: parts.layout(), promised: parts.promise(), registry }),
    async close() {
      await Promise.all([tail?.stop(), recovery.stop()])
      await parts.uses.settled(undefined)
      parts.lexical.close()
    },
  }
}

function createParts(options: FederationOptions, told: () => void): Parts {
  const { name, config, registry, state, clock, newId, events, log, places = 'untold' } = options
  const step = options.step ?? (() => {})
  const book = state.openBook({ ...log, now: clock.now, places })
  const width = new Width(state.width)
  const trust = new Trust()
  const derive = derived(options, width, trust)
  const parts: Parts = {
    name,
    recall: config.recall,
    layout: () => derive().layout,
    promise: () => derive().promised,
    upstreams: () => registry.upstreams,
    clock,
    newId,
    journal: state.journal,
    carried: state.carried,
    chronicle: createPages({ book, newId, told, step }),
    book,
    echoes: log.tail && new Echoes(book.tails, clock),
    told,
    lexical: new Lexical({
      weight: config.recall.voters.lexical,
      terms: new TermCache(options.tokenizer),
      backgrounds: new Backgrounds(state.backgrounds, clock, (problem) =>
        events.unfinished(`term frequencies were not kept: ${problem}`),
      ),
    }),
    knownCounts: createKnownCounts(),
    uses: new Uses(clock),
    trust,
    width,
    locks: new KeyedLock(clock),
    blame(upstream, what, count) {
      if (what === 'foreign_record') trust.noteMixing(upstream)
      events.blame(upstream, what, count)
    },
    observeFusion: events.fusion,
    step,
    reach: undefined,
    get whole() {
      return parts
    },
    as: () => parts,
  }
  return parts
}

/** Layout and promise, worked out anew only when an upstream, the trust in one, or the width of vectors has changed. */
function derived(
  { config, registry, engines = {} }: FederationOptions,
  vectors: Width,
  trust: Trust,
) {
  const off = turnedOff(engines)
  const make = () => {
    const layout = layOut(config, registry.upstreams, trust.untrueOf)
    return { layout, promised: promise(layout, { off, width: vectors.kept }) }
  }
  const state = () => registry.revision() + trust.revision
  let revision = state()
  let width = vectors.kept
  let made = make()
  return () => {
    if (revision === state() && width === vectors.kept) return made
    revision = state()
    width = vectors.kept
    made = make()
    return made
  }
}

type Handlers = { readonly [M in Method]?: Handler<ParamsOf<M>, ResultOf<M>> }

const HANDLERS: Handlers = {
  'memory/describe': describe,
  'memory/remember': withWidth(remember),
  'memory/recall': recall,
  'memory/timeline': timeline,
  'memory/forget': forget,
  'memory/promote': promote,
  'memory/fetch': fetch,
  'memory/consolidate': consolidate,
  'memory/reinforce': reinforce,
  'memory/session/list': listSessions,
  'memory/session/close': closeSession,
  'memory/events': readEvents,
  'memory/events/unsubscribe': unsubscribe,
}

/** A call that comes before some upstream has described itself waits for it a little. */
async function whenKnown(parts: Parts, registry: Registry): Promise<void> {
  if (parts.layout().absent.size > 0) await registry.settled(COLD_PATIENCE)
}

/** Each handler is served with what there is for the caller in the method that it has called itself. */
function methods(parts: PartsByReach, settled: () => Promise<void>): Memory {
  return {
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const handler = HANDLERS[method]
      if (handler === undefined) {
        throw new A2mError('CAPABILITY_NOT_SUPPORTED', `${method} is not served`)
      }
      await settled()
      const { caller, called = method } = context
      return handler(parts.of(caller.access, called), params, context)
    },
    close: async () => {},
  }
}
