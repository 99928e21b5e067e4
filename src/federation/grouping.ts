/** Parts items by a key, in their order; the groups come in the order of their first items. */
export function grouped<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** Cuts items into portions of at most `size`, in their order. */
export function portions<T>(items: readonly T[], size: number): T[][] {
  const cut: T[][] = []
  for (let start = 0; start < items.length; start += size)
    cut.push(items.slice(start, start + size))
  return cut
}
