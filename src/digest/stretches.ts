import { setImmediate as breathe } from 'node:timers/promises'
import { Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'

/** How many items are worked on before others get their turn. */
const STRETCH = 500

/** Maps many items without holding the thread all the while. Rejects with a `Fault` once the caller has left. */
export async function inStretches<T, R>(
  items: readonly T[],
  context: Context,
  work: (item: T, place: number) => R,
): Promise<R[]> {
  const done: R[] = []
  for (const [place, item] of items.entries()) {
    done.push(work(item, place))
    if (place % STRETCH === STRETCH - 1) await turn(context)
  }
  return done
}

/** Lets others have the thread, which a caller that has left gets no more of. */
export async function turn({ cancellation }: Context): Promise<void> {
  await breathe()
  if (cancellation.cancelled) throw new Fault('cancelled', 'the caller left')
}
