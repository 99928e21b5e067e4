import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino'

/** From the most talkative to the quietest. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Where log lines go: one JSON object each. Fields first, then a sentence that says what happened. */
export interface Log {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
  debug(fields: object, message: string): void
}

/** A log that owns its destination. */
export interface OwnedLog extends Log {
  /** Writes out, synchronously, what has not been written yet; for the end of a process. */
  flush(): void
}

export interface LogOptions {
  readonly level: LogLevel
  /** Texts that must not be in any line, such as the tokens of upstreams. */
  readonly secrets: readonly string[]
  /** For tests; standard error, written without blocking, where absent. */
  readonly stream?: DestinationStream
}

/** Makes the log of the process. */
export function createLog(options: LogOptions): OwnedLog {
  const stderr =
    options.stream === undefined ? destination({ fd: 2, sync: false, minLength: 0 }) : undefined
  const stream = options.stream ?? stderr
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    scrubbed(options.secrets, (line) => stream?.write(line)),
  )
  return {
    error: (fields, message) => log.error(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    info: (fields, message) => log.info(fields, message),
    debug: (fields, message) => log.debug(fields, message),
    flush: () => stderr?.flushSync(),
  }
}

const REDACTED = '[redacted]'

/** Takes secrets out of whole lines, since one may be part of any text: a URL, an error, what a child wrote. */
function scrubbed(secrets: readonly string[], write: (line: string) => void): DestinationStream {
  const scrub = createScrub(secrets)
  return {
    write: (line) => write(scrub(withoutTokens(line.replace(SECRET_FIELD, `$1"${REDACTED}"`)))),
  }
}

/** Any signed JWT: its header is JSON, and so begins with what `{"` is in base64url. */
const TOKEN = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g

/** Takes out tokens, which nobody can list beforehand: those of callers, and those that the gateway signs. */
export function withoutTokens(text: string): string {
  return text.includes('eyJ') ? text.replace(TOKEN, REDACTED) : text
}

/** A field whose name says that its value is a secret, at any depth of a line. */
const SECRET_FIELD =
  /("(?:authorization|bearer|cookie|password|secret|token)":)(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi

/** Replaces every one of the secrets in a text, also where it stands escaped in JSON or in a URL. Empty ones are none. */
export function createScrub(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(secrets.filter((secret) => secret !== '').flatMap(formsOf))
  const longestFirst = [...forms].sort((a, b) => b.length - a.length)
  return (text) =>
    longestFirst.reduce(
      (kept, form) => (kept.includes(form) ? kept.replaceAll(form, REDACTED) : kept),
      text,
    )
}

function formsOf(secret: string): string[] {
  const inUrl = encodeURIComponent(Buffer.from(secret).toString())
  return [secret, JSON.stringify(secret).slice(1, -1), inUrl]
}
