import { METRICS, type Metric } from '../stores/metric.js'
import type { UpstreamVectors } from '../upstreams/profile.js'
import type { Source } from './layout.js'

/** What all vectors of a federation have in common (§3.7), so that any two of them can be compared. */
export interface Space {
  /** How many numbers each has; null until the first fixes it. */
  readonly dimensions: number | null
  readonly metric: Metric
  /** What all upstreams that decide could be configured for. */
  readonly metrics: readonly Metric[]
  readonly model: string | undefined
}

/** The common space, or why there is none: each reason says between whom. */
export interface Agreement {
  readonly space: Space | undefined
  readonly apart: readonly string[]
}

type Declared = Source & {
  readonly profile: { readonly embeddings: UpstreamVectors }
}

/**
 * Upstreams agree on vectors where all have one metric in use, the widths that are fixed are one, and so are the models that are
 * named. `accepted` is the width of vectors that the gateway has taken before.
 */
export function agreeOnVectors(
  deciding: readonly Source[],
  accepted: number | undefined,
): Agreement {
  const declared = deciding.filter(isDeclared)
  const apart = [
    ...deciding.filter((source) => !isDeclared(source)).map(withoutMetric),
    ...declared.flatMap(strangeMetric),
    ...disagreement(declared.map(({ name, profile }) => [name, profile.embeddings.metric])),
    ...disagreement(widthsOf(declared, accepted)),
    ...disagreement(declared.map(({ name, profile }) => [name, modelOf(profile.embeddings)])),
  ]
  return { space: apart.length === 0 ? spaceOf(declared, accepted) : undefined, apart }
}

function isDeclared(source: Source): source is Declared {
  return source.profile.embeddings !== undefined
}

function withoutMetric({ name }: Source): string {
  return `${name}: does not say how it compares vectors`
}

function strangeMetric({ name, profile }: Declared): string[] {
  const { metric } = profile.embeddings
  return isMetric(metric) ? [] : [`${name}: compares vectors by ${metric}, which A2M does not know`]
}

function isMetric(name: string): name is Metric {
  return METRICS.some((metric) => metric === name)
}

function modelOf({ model }: UpstreamVectors): string | undefined {
  return model === undefined ? undefined : `model ${model}`
}

function widthsOf(
  declared: readonly Declared[],
  accepted: number | undefined,
): [name: string, width: string | undefined][] {
  const told = declared.map(({ name, profile }): [string, number | null] => [
    name,
    profile.embeddings.dimensions,
  ])
  const all: [string, number | null][] = [...told, ['accepted before', accepted ?? null]]
  return all.map(([name, width]) => [name, width === null ? undefined : `${width} numbers`])
}

/** Nothing where all who say something say the same; else who says what. */
function disagreement(said: readonly (readonly [string, string | undefined])[]): string[] {
  const voiced = said.filter(([, what]) => what !== undefined)
  const different = new Set(voiced.map(([, what]) => what)).size > 1
  return different ? [voiced.map(([name, what]) => `${name}: ${what}`).join(', ')] : []
}

function spaceOf(declared: readonly Declared[], accepted: number | undefined): Space | undefined {
  const vectors = declared.map(({ profile }) => profile.embeddings)
  const metric = METRICS.find((one) => one === vectors[0]?.metric)
  if (metric === undefined) return undefined
  return {
    dimensions:
      accepted ?? vectors.find(({ dimensions }) => dimensions !== null)?.dimensions ?? null,
    metric,
    metrics: METRICS.filter((one) => vectors.every(({ metrics }) => metrics.includes(one))),
    model: vectors.find(({ model }) => model !== undefined)?.model,
  }
}

/**
 * Why an upstream cannot be asked by a vector; undefined where it can. One that takes no writes may disagree with the others, and
 * then its vectors mean nothing beside theirs.
 */
export function whyIncomparable(
  { profile }: Source,
  { metric, model }: Space,
  vector: readonly number[],
): string | undefined {
  const { embeddings } = profile
  if (embeddings === undefined) return 'it keeps no vectors'
  if (embeddings.metric !== metric) {
    return `it compares vectors by ${embeddings.metric} and not by ${metric}`
  }
  const { dimensions } = embeddings
  if (dimensions !== null && dimensions !== vector.length) {
    return `its vectors have ${dimensions} numbers and not ${vector.length}`
  }
  const other = model !== undefined && embeddings.model !== undefined && embeddings.model !== model
  return other ? `its vectors are of model ${embeddings.model} and not ${model}` : undefined
}
