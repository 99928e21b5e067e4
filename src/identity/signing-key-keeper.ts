import type { Clock } from '../protocol/time.js'
import { makeKey } from './make-signing-key.js'
import { readKeys, writeKeys } from './signing-key-file.js'
import {
  type Due,
  dueIn,
  type KeyRing,
  pruned,
  type RotationRules,
  rotated,
} from './signing-keys.js'

export interface KeyKeeperOptions {
  /** Where the keys are kept. */
  readonly path: string
  readonly rules: RotationRules
  /** Ms that a key is published after its last signature. */
  readonly keepFor: number
  readonly clock: Clock
  /** `look` writes nothing and rotates nothing; without a file it has keys that nobody knows. */
  readonly purpose: 'serve' | 'look'
}

/** The gateway's keys: made at the first start, rotated when it is time, always on disk before they are used or published. */
export class KeyKeeper {
  readonly keys: 'kept' | 'unknown'
  readonly #options: KeyKeeperOptions
  #ring: KeyRing
  #turning: Promise<Due> | undefined

  private constructor(options: KeyKeeperOptions, ring: KeyRing, keys: 'kept' | 'unknown') {
    this.#options = options
    this.#ring = ring
    this.keys = keys
  }

  /** Rejects with an Error that names the file where its keys cannot be used, or where it cannot be written. */
  static async open(options: KeyKeeperOptions): Promise<KeyKeeper> {
    const { path, purpose } = options
    const kept = await readKeys(path)
    const keys = kept === undefined && purpose === 'look' ? 'unknown' : 'kept'
    const keeper = new KeyKeeper(options, kept ?? (await newRing(options)), keys)
    if (purpose === 'look') return keeper
    if (kept === undefined) await writeKeys(path, keeper.ring)
    else await keeper.turn()
    return keeper
  }

  get ring(): KeyRing {
    return this.#ring
  }

  /** Does what is due and says what that was. Rejects where it cannot be kept; the keys then stay as they were. */
  turn(): Promise<Due> {
    this.#turning ??= this.#turn().finally(() => {
      this.#turning = undefined
    })
    return this.#turning
  }

  async #turn(): Promise<Due> {
    const { rules, clock, purpose, path } = this.#options
    const due = purpose === 'look' ? 'nothing' : dueIn(this.#ring, rules, clock.now())
    if (due === 'nothing') return due
    const ring = await this.#after(due)
    refuseForeign(path, await readKeys(path), this.#ring)
    await writeKeys(path, ring)
    this.#ring = ring
    return due
  }

  async #after(due: Exclude<Due, 'nothing'>): Promise<KeyRing> {
    const { rules, clock, keepFor } = this.#options
    const now = clock.now()
    if (due === 'prune') return pruned(this.#ring, now)
    const fresh = await makeKey(rules.algorithm, now)
    return due === 'replace'
      ? { ...this.#ring, next: fresh }
      : rotated(this.#ring, { fresh, now, keepFor })
  }
}

/** A gateway that is put on the folder of another would take away keys that the other's tokens are signed with. */
function refuseForeign(path: string, kept: KeyRing | undefined, ours: KeyRing): void {
  if (kept === undefined || kept.current.kid === ours.current.kid) return
  throw new Error(
    `${path} holds other keys than were read at the start: a data_dir is one gateway's`,
  )
}

async function newRing({ rules: { algorithm }, clock }: KeyKeeperOptions): Promise<KeyRing> {
  const now = clock.now()
  const [current, next] = await Promise.all([makeKey(algorithm, now), makeKey(algorithm, now)])
  return { current, next, retired: [] }
}
