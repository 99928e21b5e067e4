import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { meets } from '../support/meets.js'

/** The readme in one line, so that a sentence is found wherever it is broken. */
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replace(
  /\s+/g,
  ' ',
)

test(`the readme says that a batch may be cut in two, and what then ${meets('4.2/atomic-or-told')}`, () => {
  expect(README).toMatch(
    /\*\*Batches\*\*: [^*]*not atomic when the gateway is killed[^*]*taken back/,
  )
})

test(`the readme says whose word is taken for an owner, transport by transport ${meets('6/documented')}`, () => {
  expect(README).toMatch(/`a2m-gateway stdio [^|]*\|[^|]*taken at its word for any owner/)
  expect(README).toMatch(/With keys, every caller is somebody\./)
  expect(README).toMatch(
    /an owner that is not the caller's is refused with `-32005`, or taken as if/,
  )
  expect(README).toMatch(/`owner` is partitioning, the key is access control/)
})
