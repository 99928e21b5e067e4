import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
/** A name that is a template and ends with what its test meets: the name, and the ids in their quotes. */
const NAMED = /`((?:[^`\\]|\\.)*?) ?\$\{meets\(([^)]*)\)\}`/g
/** The line on which a group of tests has its title: its indentation, a quote, the title. */
const GROUP = /^( *)(?:describe.*?|\]\)\()(['"`])((?:(?!\2).)*)\2, \(/

/** A test, or a group of tests, that says which requirements it shows to be met. */
export interface Citation {
  /** Its file, from the folder of all tests. */
  readonly file: string
  /** Its name after that of its group. */
  readonly name: string
  readonly ids: readonly string[]
}

/** Every citation in the tests, by file and then in their order there. */
export function citations(): readonly Citation[] {
  return testSources().flatMap(({ file, text }) => citationsIn(file, text))
}

/** How often tests cite anything, however they write it. */
export function callsOfMeets(): number {
  return testSources().reduce((sum, { text }) => sum + text.split(/\bmeets\(/).length - 1, 0)
}

function testSources(): readonly { readonly file: string; readonly text: string }[] {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => /^(acceptance|e2e|unit)\/.*\.ts$/.test(file))
    .sort()
    .map((file) => ({ file, text: readFileSync(`${TESTS}/${file}`, 'utf8') }))
}

/** The citations in one source. */
export function citationsIn(file: string, text: string): Citation[] {
  return [...text.matchAll(NAMED)].map(({ 1: name = '', 2: ids = '', index }) => ({
    file,
    name: [...groupAround(text, index), name.replace(/\\(.)/g, '$1')].join(': '),
    ids: [...ids.matchAll(/'([^']+)'/g)].map(([, id = '']) => id),
  }))
}

/** The title of the group that a place stands in: the nearest above that is indented less. */
function groupAround(text: string, index: number): string[] {
  const lines = text.slice(0, text.indexOf('\n', index)).split('\n').reverse()
  const depth = indentation(lines[0] ?? '')
  for (const line of lines) {
    const [, indent = '', , title = ''] = GROUP.exec(line) ?? []
    if (title !== '' && indent.length < depth) return [title.replace(/ \$\{meets.*$/, '')]
  }
  return []
}

function indentation(line: string): number {
  return line.length - line.trimStart().length
}
