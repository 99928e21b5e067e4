import { constants, platform, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../protocol/errors.js'
import { systemClock } from '../protocol/time.js'
import { type Accounting, type AccountingOptions, createAccounting } from './accounting.js'
import type { SinkNews } from './sink.js'

/** What the thread is asked: one method of `Accounting` with its arguments. */
export type AccountingCall = {
  readonly [N in keyof Accounting]: {
    readonly id: number
    readonly name: N
    readonly args: Parameters<Accounting[N]>
  }
}[keyof Accounting]

/** What it tells: how a call ended, or how a sink is doing. */
export type AccountingWord =
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly reason: string }
  | { readonly kind: 'news'; readonly news: SinkNews }

function start(port: MessagePort, options: AccountingOptions): void {
  giveWay()
  const say = (word: AccountingWord) => port.postMessage(word)
  const accounting = createAccounting(options, {
    now: systemClock.now,
    random: Math.random,
    news: (news) => say({ kind: 'news', news }),
  })
  port.on('message', async (call: AccountingCall) => {
    const { id } = call
    try {
      say({ kind: 'result', id, value: await perform(accounting, call) })
    } catch (thrown) {
      const reason = messageOf(thrown)
      say({ kind: 'failure', id, reason })
    }
    if (call.name === 'close') port.close()
  })
}

/** Where processors are short, callers go first: the spool keeps what waits. On Linux a priority is a thread's, elsewhere the process's. */
function giveWay(): void {
  if (platform() !== 'linux') return
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // A sandbox may forbid it; accounting then takes its turn like all others.
  }
}

function perform(accounting: Accounting, call: AccountingCall): Promise<unknown> {
  const method = accounting[call.name] as (...args: readonly unknown[]) => Promise<unknown>
  return method.apply(accounting, call.args)
}

if (parentPort !== null) start(parentPort, workerData as AccountingOptions)
