import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Requirement } from '../acceptance/requirements/requirement.js'
import { REQUIREMENTS } from '../acceptance/requirements.js'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const NAMED = /`((?:[^`\\]|\\.)*?) ?\$\{meets\(([^)]*)\)\}`/g
const CHAPTERS: Readonly<Record<string, string>> = {
  2: 'Conformance',
  3: 'Data model',
  4: 'Methods',
  5: 'Ranking',
  6: 'Identity and scoping',
  7: 'Errors',
  8: 'Transports',
}

/** A test that says which requirements it shows to be met. */
export interface Citation {
  /** Its file, from the folder of all tests. */
  readonly file: string
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

/** The citations in one source: names that are templates and end with them. */
export function citationsIn(file: string, text: string): Citation[] {
  return [...text.matchAll(NAMED)].map(([, name = '', ids = '']) => ({
    file,
    name: name.replace(/\\(.)/g, '$1'),
    ids: [...ids.matchAll(/'([^']+)'/g)].map(([, id = '']) => id),
  }))
}

/** The text of docs/conformance.md: a row for each requirement, with the tests that cite it. */
export function conformancePage(cited: readonly Citation[]): string {
  const rows = Object.entries(REQUIREMENTS)
  const chapters = Object.entries(CHAPTERS).map(([chapter, title]) => {
    const own = rows.filter(([id]) => id.startsWith(chapter))
    return [`## ${chapter}. ${title}`, '', ...HEAD, ...own.map(([id, it]) => row(id, it, cited))]
  })
  return `${[...INTRODUCTION, ...chapters.flatMap((lines) => ['', ...lines])].join('\n')}\n`
}

const INTRODUCTION = [
  '# Conformance',
  '',
  'What A2M 0.1 requires, section by section, and the tests that show it. `npm run conformance` writes this page, and a test fails',
  'where it is out of date. The sentences are ours. `server` is required of the gateway and of built-in stores, `client` of the',
  'gateway towards its upstreams.',
  '',
  'Tests under `acceptance/` run over every kind of memory: a built-in store in process, over HTTP and on stdio; a federation of',
  'stores, one with a tier each over HTTP, stdio and in process, a gateway over HTTP and on stdio, a gateway behind a gateway.',
  '`npx vitest -t 3.6/replacement` runs the tests of one requirement; tests of the built program want `npm run build` first.',
]

const HEAD = ['| requirement | of | in our words | tests |', '|---|---|---|---|']

function row(id: string, { who, text }: Requirement, cited: readonly Citation[]): string {
  const tests = cited
    .filter(({ ids }) => ids.includes(id))
    .map(({ file, name }) => `[${fileName(file)}](../test/${file}) ${escaped(name)}`)
  return `| \`${id}\` | ${who} | ${text} | ${tests.join('<br>')} |`
}

function fileName(file: string): string {
  return file.replace(/(\.test)?\.ts$/, '')
}

function escaped(name: string): string {
  return name.replace(/[|<>*_\\]/g, '\\$&')
}
