import { createExtractor } from '../digest/extract.js'
import type { Summarizer } from '../digest/summarizer.js'
import type { TextModel } from '../digest/text-model.js'
import type { DigestOptions } from '../digest/with-digest.js'
import type { Capability } from '../protocol/methods.js'
import type { Tokenizer } from '../text/tokenizer.js'
import type { Parts } from './parts.js'

/** What turns records into text. */
export interface Engines {
  /** Writes prompts where a caller asks for a model. */
  readonly promptModel?: TextModel | undefined
  /** Makes summaries; sentences are extracted unless given. */
  readonly summarizer?: Summarizer | 'off' | undefined
}

/** What the configuration turns off of the gateway's own capabilities, and by which of its words. */
export function turnedOff({ summarizer }: Engines): ReadonlyMap<Capability, string> {
  return summarizer === 'off'
    ? new Map([['summarize', 'configured with summarize: off']])
    : new Map()
}

/** Prompts and summaries over a federation. `settled` waits for tiers that are not known yet. */
export function digestOf(
  { promptModel, summarizer }: Engines,
  {
    tokenizer,
    parts,
    settled,
  }: { tokenizer: Tokenizer; parts: Parts; settled: () => Promise<void> },
): DigestOptions {
  if (summarizer === 'off') return { promptModel, summaries: undefined }
  return {
    promptModel,
    summaries: {
      summarizer: summarizer ?? createExtractor(tokenizer),
      longestContent: () => parts.promise().limits.max_content_length ?? Infinity,
      async tiers() {
        await settled()
        return parts.layout().tiers.map(({ name }) => name)
      },
    },
  }
}
