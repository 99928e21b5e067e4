/** What several rounds came to. */
export interface Summary {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function summary(values: readonly number[]): Summary {
  const ordered = values.toSorted((a, b) => a - b)
  return { median: quantile(ordered, 0.5), least: ordered[0] ?? 0, most: ordered.at(-1) ?? 0 }
}

export function median(values: readonly number[]): number {
  return summary(values).median
}

/** `ordered` ascends; between two values it lies between them. */
function quantile(ordered: readonly number[], part: number): number {
  const place = (ordered.length - 1) * part
  const below = ordered[Math.floor(place)] ?? 0
  const above = ordered[Math.ceil(place)] ?? 0
  return below + (above - below) * (place - Math.floor(place))
}
