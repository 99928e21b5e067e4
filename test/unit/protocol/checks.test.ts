import { expect, test } from 'vitest'
import { checkParams } from '../../../src/protocol/checks.js'

/** What is wrong is named by its path, also within what may be several things. */
test.each([
  [{ budget: 1.5 }, 'prompt.budget: '],
  [{ budget: '10' }, 'prompt.budget: '],
  [{ budget: -1 }, 'prompt.budget: '],
  [{ cite: 'x' }, 'prompt.cite: '],
  ['x', 'prompt: must be true, false or an object'],
  [1, 'prompt: must be true, false or an object'],
  [[], 'prompt: must be true, false or an object'],
])('a prompt of %j is refused by name', (prompt, message) => {
  expect(() => checkParams('memory/recall', { prompt })).toThrow(message)
})
