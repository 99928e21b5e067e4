import { expect, test } from 'vitest'
import { Tokenizer } from '../../../src/text/tokenizer.js'

const WORDS =
  'the deploy key of staging rotates every ninety days unless somebody extends it by hand'

/** CPU time of this process in ms, which neighbours on a busy machine change less than the clock on the wall. */
function cpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

test('sixty texts of a thousand characters take milliseconds', () => {
  const tokenizer = new Tokenizer()
  const texts = Array.from({ length: 60 }, (_, n) => `${n} ${WORDS} `.repeat(12).slice(0, 1000))
  const turn = (): number => {
    const start = cpu()
    for (const text of texts) tokenizer.index(text)
    return cpu() - start
  }
  expect(Math.min(...Array.from({ length: 50 }, turn))).toBeLessThan(3)
})
