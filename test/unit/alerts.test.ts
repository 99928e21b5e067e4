import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { everyMetric, metricsIn } from '../support/metric-names.js'

const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string().regex(/^a2m-gateway/),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^A2M[A-Z][A-Za-z]+$/),
          expr: z.string(),
          for: z.string().regex(/^\d+[mh]$/),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
          annotations: z.strictObject({
            summary: z.string().max(120),
            description: z.string().endsWith('.'),
            runbook_url: z.string(),
          }),
        }),
      ),
    }),
  ),
})
const testsSchema = z.object({
  tests: z.array(
    z.object({
      name: z.string(),
      alert_rule_test: z.array(
        z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) }),
      ),
    }),
  ),
})

const boardSchema = z.object({ panels: z.array(z.object({ title: z.string() })) })

const rules = rulesSchema
  .parse(parse(read('dashboards/alerts.yaml')))
  .groups.flatMap((group) => group.rules)
const names = rules.map(({ alert }) => alert)

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
}

/** Entries of the runbook by their headings. */
function entries(): ReadonlyMap<string, string> {
  const [, ...parts] = read('docs/runbook.md').split(/^## /m)
  const alerts = parts.filter((part) => part.startsWith('A2M'))
  return new Map(alerts.map((part) => [part.slice(0, part.indexOf('\n')).trim(), part]))
}

test('each alert has a name of its own, and an entry in the runbook that it leads to', () => {
  expect(new Set(names).size).toBe(names.length)
  expect([...entries().keys()].sort()).toEqual(names.toSorted())
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
  }
})

test('each entry says what it means, how to see it and what to do', () => {
  for (const [alert, text] of entries()) {
    for (const part of ['**Means.**', '**See.**', '**Do.**']) expect(text, alert).toContain(part)
  }
})

test('every metric that rules, their tests and the runbook name exists', async () => {
  const known = await everyMetric()
  const files = ['dashboards/alerts.yaml', 'dashboards/alerts.test.yaml', 'docs/runbook.md']
  const named = files.flatMap((file) => metricsIn(read(file)))
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

/** Panels are named in quotes, beginning with a capital letter. */
test('every panel that the runbook sends to is on a dashboard', () => {
  const boards = ['overview', 'upstreams', 'usage'].map((name) => read(`dashboards/${name}.json`))
  const titles = new Set(
    boards.flatMap((text) => boardSchema.parse(JSON.parse(text)).panels.map(({ title }) => title)),
  )
  const words = read('docs/runbook.md')
    .replaceAll(/`[^`]*`/g, '')
    .replaceAll(/\s+/g, ' ')
  const named = [...words.matchAll(/"([A-Z][^"]+)"/g)].map((match) => match[1] ?? '')
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((title) => !titles.has(title))).toEqual([])
})

test('each alert is tested where it must fire and where it must not', () => {
  const { tests } = testsSchema.parse(parse(read('dashboards/alerts.test.yaml')))
  const checks = tests.flatMap((one) => one.alert_rule_test)
  const firing = checks.filter(({ exp_alerts }) => exp_alerts.length > 0)
  const quiet = checks.filter(({ exp_alerts }) => exp_alerts.length === 0)
  expect(new Set(firing.map(({ alertname }) => alertname))).toEqual(new Set(names))
  expect(new Set(quiet.map(({ alertname }) => alertname))).toEqual(new Set(names))
})
