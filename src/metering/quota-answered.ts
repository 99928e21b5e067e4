import { messageOf } from '../protocol/errors.js'
/** What became of something that was waited for. */
export type Answered<T> =
  | { readonly kind: 'given'; readonly value: T }
  | { readonly kind: 'none'; readonly reason: string }

/** A timer that fires later than this, in ms, tells of this process being busy, and of nobody else being slow. */
const LATE_MS = 10

/**
 * Waits for an answer for so many ms and no longer; never rejects. Where this process itself was too busy to look, it waits
 * anew, and it always looks once more at what has come in meanwhile.
 */
export function answered<T>(asked: Promise<T>, timeout: number): Promise<Answered<T>> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout
    const wait = () => {
      const due = performance.now() + timeout
      timer = setTimeout(() => {
        if (performance.now() - due > LATE_MS) wait()
        else setImmediate(() => resolve(NOTHING))
      }, timeout)
    }
    wait()
    asked.then(
      (value) => {
        clearTimeout(timer)
        resolve({ kind: 'given', value })
      },
      (thrown: unknown) => {
        clearTimeout(timer)
        resolve({ kind: 'none', reason: messageOf(thrown) })
      },
    )
  })
}

const NOTHING = { kind: 'none', reason: 'it did not answer in time' } as const
