import { afterAll, beforeAll, describe } from 'vitest'
import { describeForgetting } from './forgetting.js'
import { describeItself } from './itself.js'
import { describeOwners } from './owners.js'
import { describePrompt } from './prompt.js'
import { describeReading } from './reading.js'
import { type Bench, Client, createMarks, type Open, type Subject, type Traits } from './subject.js'
import { describeSummaries } from './summarize.js'
import { describeTiers } from './tiers.js'
import { describeWhere } from './where.js'
import { describeWire } from './wire.js'
import { describeWriting } from './writing.js'

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
    if (traits.capabilities.includes('tiers')) describeTiers(bench)
    if (traits.capabilities.includes('prompt')) describePrompt(bench)
    if (traits.capabilities.includes('summarize')) describeSummaries(bench)
    if (traits.owners !== undefined) describeOwners(bench)
  })
}
