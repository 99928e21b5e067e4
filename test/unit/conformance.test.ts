import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { REQUIREMENTS } from '../acceptance/requirements.js'
import { callsOfMeets, citations, citationsIn } from '../support/citations.js'
import { conformancePage } from '../support/conformance-page.js'

const PAGE = new URL('../../docs/conformance.md', import.meta.url)
/** Not written as a call, which would count as a citation of this file. */
const MEETS = 'meets'
const IDS = Object.keys(REQUIREMENTS)

test('every requirement is cited by a test', () => {
  const cited = new Set(citations().flatMap(({ ids }) => ids))
  expect(IDS.filter((id) => !cited.has(id))).toEqual([])
  expect([...cited].filter((id) => !IDS.includes(id))).toEqual([])
})

test('no citation is overlooked', () => {
  expect(citations().length).toBe(callsOfMeets())
  expect(citations().length).toBeGreaterThan(50)
})

test('ids begin with a section from 2 to 8.3.3', () => {
  expect(IDS.filter((id) => !/^[2-8](\.\d+){0,2}\/[a-z-]+$/.test(id))).toEqual([])
})

test('docs/conformance.md has a row for each; npm run conformance writes it', () => {
  const page = readFileSync(PAGE, 'utf8')
  expect(page).toBe(conformancePage(citations()))
  const rows = page.match(/^\| `[^`]+`/gm) ?? []
  expect(rows.map((row) => row.slice(3, -1)).sort()).toEqual([...IDS].sort())
})

test('a citation is read however it is laid out, with the group that it stands in', () => {
  const text = `test(\`it's one, (two) \${${MEETS}('3.6/prefix')}\`, () => {})
  describe.skipIf(x === 'y')('a group', () => {
    test.each(['\`', \`a\`])(
      \`anna's \\\`own\\\` \${${MEETS}(
        '2/truthful',
        '4.6/unknown-ids',
      )}\`, () => {})
  })
  describe.each([
    ['x'],
  ])('each %s', (x) => {
    describe(\`groups \${${MEETS}('8/no-batch')}\`, () => {`
  expect(citationsIn('a.ts', text)).toEqual([
    { file: 'a.ts', name: "it's one, (two)", ids: ['3.6/prefix'] },
    { file: 'a.ts', name: "a group: anna's `own`", ids: ['2/truthful', '4.6/unknown-ids'] },
    { file: 'a.ts', name: 'each %s: groups', ids: ['8/no-batch'] },
  ])
})
