import { JsonText, print } from './json.js'

/** Puts a member in front of an object kept as text; the rest of the text, and a value that is text, stays to the letter. */
export function withMember(object: JsonText | undefined, name: string, value: unknown): JsonText {
  const member = `${JSON.stringify(name)}:${print(value)}`
  const inside = object?.text.slice(1, -1) ?? ''
  return new JsonText(inside.trim() === '' ? `{${member}}` : `{${member},${inside}}`)
}

/** Takes a member out of an object kept as text: its value, and what is left to the letter (undefined where nothing is). */
export function withoutMember(
  object: JsonText,
  name: string,
): { readonly value: unknown; readonly rest: JsonText | undefined } {
  const members = membersOf(object.text)
  const found = members.findIndex((member) => member.name === name)
  if (found < 0) return { value: undefined, rest: object }
  const left = members.filter((_, index) => index !== found).map((member) => member.text)
  const value = (object.value() as Readonly<Record<string, unknown>>)[name]
  return { value, rest: left.length === 0 ? undefined : new JsonText(`{${left.join(',')}}`) }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g
const STEP: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 }

/** Cuts the text of an object at the commas of its own level. */
function membersOf(text: string): { readonly name: string; readonly text: string }[] {
  const members: { name: string; text: string }[] = []
  let depth = 0
  let start = 1
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const ends = depth === 1 && (token === ',' || token === '}')
    depth += STEP[token] ?? 0
    if (!ends) continue
    const member = text.slice(start, index)
    if (member.trim() !== '') members.push({ name: nameOf(member), text: member })
    start = index + 1
  }
  return members
}

function nameOf(member: string): string {
  const [name = '""'] = /^"(?:[^"\\]|\\.)*"/.exec(member.trimStart()) ?? []
  return JSON.parse(name)
}
