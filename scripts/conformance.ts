/** `npm run conformance`: writes docs/conformance.md from the requirements and the tests that cite them. */
import { writeFileSync } from 'node:fs'
import { citations } from '../test/support/citations.js'
import { conformancePage } from '../test/support/conformance-page.js'

writeFileSync(new URL('../docs/conformance.md', import.meta.url), conformancePage(citations()))
