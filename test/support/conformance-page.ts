import { grouped } from '../../src/federation/grouping.js'
import type { Requirement } from '../acceptance/requirements/requirement.js'
import { REQUIREMENTS } from '../acceptance/requirements.js'
import type { Citation } from './citations.js'

const CHAPTERS: Readonly<Record<string, string>> = {
  2: 'Conformance',
  3: 'Data model',
  4: 'Methods',
  5: 'Ranking',
  6: 'Identity and scoping',
  7: 'Errors',
  8: 'Transports',
}

const INTRODUCTION = `# Conformance

What A2M 0.1 requires, section by section, and the tests that show it. \`npm run conformance\` writes this page, and a test fails
where it is out of date. The sentences are ours. \`server\` is required of the gateway and of built-in stores, \`client\` of the
gateway towards its upstreams.

Tests under \`acceptance/\` run over every kind of memory: a built-in store in process, over HTTP and on stdio; a federation of
stores; a gateway over stores in process, over HTTP and on stdio; a gateway over HTTP and on stdio; a gateway behind a gateway.
\`npx vitest run -t 3.6/replacement\` runs the tests of one requirement; tests of the built program want \`npm run build\` first.
`

const HEAD = `| requirement | of | in our words | tests |
|---|---|---|---|`

/** The text of docs/conformance.md: a row for each requirement, with the tests that cite it. */
export function conformancePage(cited: readonly Citation[]): string {
  const chapters = Object.entries(CHAPTERS).map(([chapter, title]) => {
    const own = Object.entries(REQUIREMENTS).filter(([id]) => id.startsWith(chapter))
    const rows = own.map(([id, requirement]) => row(id, requirement, cited))
    return `\n## ${chapter}. ${title}\n\n${HEAD}\n${rows.join('\n')}\n`
  })
  return [INTRODUCTION, ...chapters].join('')
}

function row(id: string, { who, text }: Requirement, cited: readonly Citation[]): string {
  const files = grouped(
    cited.filter(({ ids }) => ids.includes(id)),
    ({ file }) => file,
  )
  const tests = [...files].map(([file, named]) => {
    const names = named.map(({ name }) => escaped(name))
    return `[${file.replace(/(\.test)?\.ts$/, '')}](../test/${file}): ${names.join(' · ')}`
  })
  return `| \`${id}\` | ${who} | ${text} | ${tests.join('<br>')} |`
}

function escaped(name: string): string {
  return name.replace(/[|<>*_\\]/g, '\\$&')
}
