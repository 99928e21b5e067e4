import type { Schedule } from './backoff.js'

/**
 * The process groups that this process has started and that must not outlive it. One for a whole program: it listens for
 * the end of the process once, and only while there is a group to end.
 */
export class ProcessGroups {
  readonly #leaders = new Set<number>()
  readonly #endAll = (): void => {
    for (const leader of this.#leaders) signalGroup(leader, 'SIGKILL')
  }

  /** `leader` is the process id of a group's first process. */
  add(leader: number): void {
    if (this.#leaders.size === 0) process.on('exit', this.#endAll)
    this.#leaders.add(leader)
  }

  delete(leader: number): void {
    this.#leaders.delete(leader)
    if (this.#leaders.size === 0) process.off('exit', this.#endAll)
  }
}

/** Sends a signal to every process of a group. False where none is left. */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-leader, signal)
  } catch {
    return false
  }
}

const SWEEPS = 20
const SWEEP_PAUSE = 5

/** Kills what is left of a group and waits until it is gone: 100 ms at the most, since a zombie counts until it is reaped. */
export async function sweepGroup(leader: number, schedule: Schedule): Promise<void> {
  for (let sweep = 0; sweep < SWEEPS && signalGroup(leader, 'SIGKILL'); sweep++) {
    await new Promise<void>((resolve) => {
      schedule(resolve, SWEEP_PAUSE)
    })
  }
}
