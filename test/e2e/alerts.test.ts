import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { located, remedyFor } from '../../scripts/services.mjs'

const FOLDER = fileURLToPath(new URL('../../dashboards/', import.meta.url))

function promtool(...args: string[]) {
  const program = located('promtool')
  if (program === undefined) throw new Error(`promtool is missing: ${remedyFor('promtool')}`)
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: FOLDER, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

test('Prometheus takes the rules', () => {
  expect(promtool('check', 'rules', 'alerts.yaml')).toEqual({
    status: 0,
    said: expect.stringMatching(/SUCCESS: \d\d rules found/),
  })
})

test('each alert fires when it must, with its words filled in, and not before', () => {
  expect(promtool('test', 'rules', 'alerts.test.yaml')).toEqual({
    status: 0,
    said: expect.stringContaining('SUCCESS'),
  })
})
