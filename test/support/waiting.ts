/** How often a condition is looked at, and how long, in ms. */
const EVERY = 20
const PATIENCE = 10_000

/** Looks at a condition again and again until it holds; fails when it does not in ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`still not so: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY))
  }
}

/** How long something takes, in ms. */
export async function duration(task: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await task()
  return performance.now() - begun
}

/** The value below which `share` of them lie. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}
