import { afterAll, beforeAll, describe } from 'vitest'
import type { Capability } from '../../src/protocol/methods.js'
import { describeEmbeddings } from './embeddings.js'
import { describeEvents } from './events.js'
import { describeExternal } from './external.js'
import { describeForgetting } from './forgetting.js'
import { describeItself } from './itself.js'
import { describeKeys } from './keys.js'
import { describeOwners } from './owners.js'
import { describePrompt } from './prompt.js'
import { describeReading } from './reading.js'
import { describeSalience } from './salience.js'
import { describeSessions } from './sessions.js'
import { type Bench, Client, createMarks, type Open, type Subject, type Traits } from './subject.js'
import { describeSummaries } from './summarize.js'
import { describeTiers } from './tiers.js'
import { describeWhere } from './where.js'
import { describeWire } from './wire.js'
import { describeWriting } from './writing.js'

/** What a memory is held to for a capability that it declares. */
const OPTIONAL: { readonly [C in Capability]?: (bench: Bench) => void } = {
  tiers: describeTiers,
  salience: describeSalience,
  sessions: describeSessions,
  keys: describeKeys,
  embeddings: describeEmbeddings,
  external: describeExternal,
  events: describeEvents,
  prompt: describePrompt,
  summarize: describeSummaries,
}

/** Holds a memory to every MUST of the specification for the capabilities that it has. */
export function describeMemory(name: string, open: Open, traits: Traits): void {
  describe(name, () => {
    let subject: Subject | undefined
    beforeAll(async () => {
      subject = await open()
    }, 60_000)
    afterAll(() => subject?.close(), 60_000)
    const newId = createMarks('request')
    const bench: Bench = {
      traits,
      mark: createMarks('mark'),
      client(owner = 'anna') {
        if (subject === undefined) throw new Error(`${name} is not open`)
        return new Client({ subject, traits, owner, newId })
      },
    }
    describeItself(bench)
    describeWriting(bench)
    describeReading(bench)
    describeWhere(bench)
    describeForgetting(bench)
    describeWire(bench)
    for (const capability of traits.capabilities) OPTIONAL[capability]?.(bench)
    if (traits.owners !== undefined) describeOwners(bench)
  })
}
