import type { Context } from '../protocol/memory.js'

/** What a summary is made from: one record that has content. */
export interface Source {
  readonly id: string
  readonly content: string
  readonly role: string | undefined
  readonly created_at: string
}

/** A summary, and the records that it was made from. */
export interface Summary {
  readonly content: string
  readonly of: readonly string[]
}

export interface SummaryBounds {
  /** In code points; a summary is no longer. */
  readonly longest: number
  readonly context: Context
}

/** Makes one text of many records, oldest first. */
export interface Summarizer {
  /** As describe tells it: null without a model. */
  readonly model: string | null
  /** The most characters of content that it takes at once; further records are left out, the least wanted first. */
  readonly input: number
  /** Undefined where there is nothing durable to say. Throws an `A2mError` where it cannot tell. */
  summarize(sources: readonly Source[], bounds: SummaryBounds): Promise<Summary | undefined>
}
