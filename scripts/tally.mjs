/**
 * Prints `N passed, N failed` from a JSON report of vitest, and fails unless the run was whole and good. A file that did not
 * load counts as one failure.
 */
import { readFileSync } from 'node:fs'

const [file = ''] = process.argv.slice(2)
const report = read(file)
const broken = report.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
)
const failed = report.numFailedTests + broken.length
process.stdout.write(`${report.numPassedTests} passed, ${failed} failed\n`)
if (!report.success || failed > 0 || report.numPassedTests === 0) process.exitCode = 1

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    process.stderr.write('the tests left no report\n')
    return { numPassedTests: 0, numFailedTests: 1, success: false, testResults: [] }
  }
}
