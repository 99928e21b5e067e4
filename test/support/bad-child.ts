import { fileURLToPath } from 'node:url'

/** The kinds of child that `bad-child-program.mjs` plays. */
export type BadChildKind =
  | 'healthy'
  | 'silent'
  | 'banner'
  | 'crlf'
  | 'half_lines'
  | 'huge_line'
  | 'not_utf8'
  | 'notifying'
  | 'chatty_stderr'
  | 'crash_at_once'
  | 'crash_on_call'
  | 'closes_stdin'
  | 'closes_stdout'
  | 'slow_reader'
  | 'environment'
  | 'out_of_order'
  | 'last_words'
  | 'stubborn'
  | 'wrapper'
  | 'wrapper_that_dies'

const PROGRAM = fileURLToPath(new URL('./bad-child-program.mjs', import.meta.url))

/** The command line that starts a real child of one kind. */
export function badChild(kind: BadChildKind, ...more: string[]): readonly [string, ...string[]] {
  return [process.execPath, PROGRAM, kind, ...more]
}
