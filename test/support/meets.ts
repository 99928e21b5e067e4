import type { RequirementId } from '../acceptance/requirements.js'

/**
 * The end of a test's name, `a write to an occupied key ${meets('3.6/replacement')}`: what the test shows to be met. So
 * `vitest -t 3.6/replacement` runs the tests of one requirement, and docs/conformance.md is made from the sources.
 */
export function meets(...ids: readonly [RequirementId, ...RequirementId[]]): string {
  return `[${ids.join(' ')}]`
}
