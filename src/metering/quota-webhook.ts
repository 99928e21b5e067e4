import { setTimeout as pause } from 'node:timers/promises'
import { formatInstant } from '../protocol/time.js'
import type { Charge } from './quota-charges.js'

export interface WebhookOptions {
  readonly url: string
  readonly bearer: string | undefined
  /** For one attempt, in ms. */
  readonly timeout: number
  /** Attempts after the first. */
  readonly retries: number
  /** The time before the second attempt, in ms; each further one doubles it. */
  readonly backoff: number
  readonly newId: () => string
  readonly outcome: (outcome: 'sent' | 'failed' | 'dropped') => void
}

/** One warning, as it is posted. */
export interface Warning {
  /** Its own, the same in every attempt. */
  readonly id: string
  readonly type: 'a2m.quota.warned'
  readonly at: string
  /** The gateway's name. */
  readonly source: string
  readonly limit: string
  readonly of: string
  readonly per: string
  /** The caller, the owner (null: records of nobody) or the role. */
  readonly subject: string | null
  readonly max: number
  readonly warn_at: number
  readonly used: number
  readonly resets_at?: string
}

/** Warnings that wait; a webhook that is away for long is not owed more. */
const MOST_WAITING = 1000

/** Posts warnings as JSON, one after the other, while calls go on. Each is tried a few times and then given up. */
export class Webhook {
  readonly #options: WebhookOptions
  readonly #closing = new AbortController()
  readonly #waiting: Warning[] = []
  #working: Promise<void> | undefined

  constructor(options: WebhookOptions) {
    this.#options = options
  }

  tell(warning: Omit<Warning, 'id'>): void {
    if (this.#closing.signal.aborted || this.#waiting.length >= MOST_WAITING) {
      this.#options.outcome('dropped')
      return
    }
    this.#waiting.push({ id: this.#options.newId(), ...warning })
    this.#working ??= this.#work()
  }

  /** Gives up what is not sent yet. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#working
    for (const _ of this.#waiting.splice(0)) this.#options.outcome('dropped')
  }

  async #work(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const warning = this.#waiting.shift()
      if (warning === undefined) break
      this.#options.outcome(await this.#send(JSON.stringify(warning)))
    }
    this.#working = undefined
  }

  async #send(body: string): Promise<'sent' | 'failed'> {
    const { retries, backoff } = this.#options
    for (let attempt = 0; attempt <= retries; attempt++) {
      if (attempt > 0 && !(await this.#rest(backoff * 2 ** (attempt - 1)))) return 'failed'
      const status = await this.#post(body)
      if (status !== undefined && status >= 200 && status < 300) return 'sent'
      if (status !== undefined && isFinal(status)) return 'failed'
    }
    return 'failed'
  }

  /** The status of the answer; undefined where there was none. A redirect is not followed. */
  async #post(body: string): Promise<number | undefined> {
    const { url, bearer, timeout } = this.#options
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(timeout), this.#closing.signal])
      const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
      await answer.body?.cancel()
      return answer.status
    } catch {
      return undefined
    }
  }

  async #rest(ms: number): Promise<boolean> {
    try {
      await pause(ms, undefined, { ref: false, signal: this.#closing.signal })
      return true
    } catch {
      return false
    }
  }
}

/** It was understood and is not wanted; what is overloaded or broken may want it later. */
function isFinal(status: number): boolean {
  return status < 500 && status !== 408 && status !== 429
}

/** What is told of a charge by which a soft limit was passed, at `now` in ms since 1970. */
export function warningOf(
  { quota, subject, owner, span }: Charge,
  used: number,
  { source, now }: { readonly source: string; readonly now: number },
): Omit<Warning, 'id'> {
  const { name, of, per, limit, warnAt = limit } = quota
  return {
    type: 'a2m.quota.warned',
    at: formatInstant(now),
    source,
    limit: name,
    of,
    per,
    subject: per === 'owner' ? (owner ?? null) : subject,
    max: limit,
    warn_at: warnAt,
    used,
    ...(of === 'stock' ? {} : { resets_at: formatInstant(span.end) }),
  }
}
