import type { CallReport } from '../protocol/call-report.js'

/** Told what happens at an edge. Must not throw and must not wait. */
export interface Observer {
  /** A whole message is there and is being worked on; `finished` follows for each. */
  started(): void
  finished(report: CallReport): void
  /**
   * A request was turned away before it became a message, with this HTTP status. `version` is the protocol version that it was
   * for, `other` where that is not spoken; undefined where it did not come to that. `remote` is the address it came from, where
   * that is still known.
   */
  refused(status: number, version?: string, remote?: string): void
}

/** Tells several observers, in their order. */
export function observeAll(observers: readonly Observer[]): Observer {
  return {
    started() {
      for (const observer of observers) observer.started()
    },
    finished(report) {
      for (const observer of observers) observer.finished(report)
    },
    refused(status, version, remote) {
      for (const observer of observers) observer.refused(status, version, remote)
    },
  }
}
