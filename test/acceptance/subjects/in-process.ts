import type { Context } from '../../../src/protocol/memory.js'
import { type Served, serve } from '../../../src/protocol/serve.js'
import type { OwnerName, Subject } from '../subject.js'

/** A subject of what is served in this process; texts go both ways as over any wire. */
export function inProcess(
  served: Served,
  contextFor: (owner: OwnerName) => Context,
  close: () => Promise<void> = () => served.close(),
): Subject {
  return {
    send: async (text, owner) => (await serve(text, served, contextFor(owner))).reply,
    close,
  }
}
