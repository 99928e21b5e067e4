import type { ModelsConfig, UpstreamConfig } from './config.js'

/** What is shorter in a child's environment is hardly a secret, and taking it out would garble every line. */
const SHORTEST_SECRET = 8

/** Texts that only the gateway and this upstream may know: its credential there, or what a child is given. */
export function secretsOf({ connect }: UpstreamConfig): readonly string[] {
  if (connect.kind === 'http') return connect.bearer === undefined ? [] : [connect.bearer]
  if (connect.kind === 'store') return []
  return Object.values(connect.env).filter((value) => value.length >= SHORTEST_SECRET)
}

/** The gateway's credentials at the models that it asks. */
export function secretsOfModels({ prompt, summarize }: ModelsConfig): readonly string[] {
  return [prompt, summarize].flatMap((model) => model?.bearer ?? [])
}
