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

/** Sends a signal to every process of a group; one that is gone already is no error. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch {
    // No process of the group is left.
  }
}
