import type { Colours } from './terminal.js'

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g

/** Lays JSON text out over lines. Works on the text and not on a value, so that every numeral stays as it was written. */
export function pretty(json: string, colours: Colours): string {
  const tokens = json.match(TOKEN) ?? []
  let depth = 0
  const parts = tokens.map((token, index) => {
    if (closes(token)) depth--
    const before = breaksBefore(token, tokens[index - 1]) ? `\n${'  '.repeat(depth)}` : ''
    if (opens(token)) depth++
    return before + painted(token, tokens[index + 1] === ':', colours)
  })
  return parts.join('')
}

function breaksBefore(token: string, previous: string | undefined): boolean {
  if (closes(token)) return !opens(previous)
  return opens(previous) || previous === ','
}

function opens(token: string | undefined): boolean {
  return token === '{' || token === '['
}

function closes(token: string | undefined): boolean {
  return token === '}' || token === ']'
}

function painted(token: string, isKey: boolean, colours: Colours): string {
  if (token === ':') return ': '
  if (token === ',' || opens(token) || closes(token)) return token
  if (isKey) return colours.cyan(token)
  return token.startsWith('"') ? colours.green(token) : colours.yellow(token)
}
