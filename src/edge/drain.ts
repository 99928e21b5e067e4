/** Counts what is being worked on, so that closing can wait for it. */
export class Drain {
  #active = 0
  #draining = false
  #waiting: (() => void)[] = []

  /** Set once closing has begun; answers then say `connection: close`. */
  get draining(): boolean {
    return this.#draining
  }

  enter(): void {
    this.#active++
  }

  leave(): void {
    this.#active--
    if (this.#active > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  begin(): void {
    this.#draining = true
  }

  /** Resolves as soon as nothing is being worked on. */
  empty(): Promise<void> {
    if (this.#active === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
