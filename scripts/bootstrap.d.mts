/** Where the checkout is. */
export const ROOT: string
/** Installs and builds what is missing or out of date; ends the process where that fails. */
export function bootstrap(): void
