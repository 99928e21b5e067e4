/** Where a program is, in PATH or where Debian keeps those of PostgreSQL; undefined where it is not. */
export function located(program: string): string | undefined
/** What to do about a program that is not there. */
export function remedyFor(program: string): string
