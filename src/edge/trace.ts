const TRACEPARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** The trace id of a W3C `traceparent` header; undefined where there is none or it is malformed. */
export function traceOf(traceparent: string | undefined): string | undefined {
  return traceparent === undefined ? undefined : TRACEPARENT.exec(traceparent)?.[1]
}

/**
 * Makes trace ids of 32 hexadecimal digits: 64 random bits drawn once and a count. Unique is what they must be, and random
 * bytes for every call would cost more than the rest of its context.
 */
export function createTraces(randomBytes: (size: number) => Uint8Array): () => string {
  const prefix = Buffer.from(randomBytes(8)).toString('hex')
  let count = 0
  return () => prefix + (++count).toString(16).padStart(16, '0')
}
