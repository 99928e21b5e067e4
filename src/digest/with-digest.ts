import type { Memory } from '../protocol/memory.js'
import type { Capability, Description } from '../protocol/methods.js'
import { promptOffer } from './prompt-request.js'
import type { TextModel } from './text-model.js'
import { withPrompt } from './with-prompt.js'
import { type SummaryOptions, withSummaries } from './with-summaries.js'

export interface DigestOptions {
  /** Writes prompts where a caller asks for `method: model`. */
  readonly promptModel: TextModel | undefined
  /** Undefined where no summaries are made. */
  readonly summaries: SummaryOptions | undefined
}

/** A memory that can also tell what it holds as text: rendered for one call, or distilled and kept. */
export function withDigest(inner: Memory, { promptModel, summaries }: DigestOptions): Memory {
  const prompted = withPrompt(inner, promptModel)
  return summaries === undefined ? prompted : withSummaries(prompted, summaries)
}

/** What describe tells of it to anybody, without a look at any record. */
export function digestOffer({ promptModel, summaries }: DigestOptions): Partial<Description> {
  const prompt = promptOffer(promptModel)
  return summaries === undefined
    ? { prompt }
    : { prompt, summarize: { model: summaries.summarizer.model } }
}

/** The capabilities that it brings, whatever the memory within has. */
export function digestCapabilities({ summaries }: DigestOptions): readonly Capability[] {
  return summaries === undefined ? ['prompt'] : ['summarize', 'prompt']
}
