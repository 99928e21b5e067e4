/** The salience of a record that none was written for. */
export const USUAL_SALIENCE = 1

/** What decides how much a record is worth keeping; instants and times in ms. */
export interface Fading {
  readonly salience: number | null | undefined
  /** How long it has not been used, or since it was made. */
  readonly idle: number
  /** How long it takes for what is not used to be worth half. */
  readonly halfLife: number
}

/** The logarithm of salience × 0.5 ^ (idle / halfLife), which for old records is too small for a double. */
export function fadedWeight({ salience, idle, halfLife }: Fading): number {
  return Math.log2(Math.max(salience ?? USUAL_SALIENCE, 0)) - idle / halfLife
}
