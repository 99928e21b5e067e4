import { describe, expect, test } from 'vitest'
import { defaultConfig, loadConfig } from '../../../src/config/load.js'
import { secretsOfUsage } from '../../../src/config/secrets.js'

const load = (text: string, env: Record<string, string> = {}) =>
  loadConfig({ text, file: 'a.yaml', env, cwd: '/srv' }).usage

describe('usage', () => {
  test('is metered in a file by default', () => {
    expect(defaultConfig('/srv').usage).toEqual({
      ledger: { kind: 'sqlite' },
      keep: 90 * 86_400_000,
      onFailure: 'continue',
      charactersPerToken: 4,
      spool: { maxBytes: 1024 ** 3, interval: 1000 },
      heldEvents: 10_000,
      countAt: 3,
      sinks: [],
    })
  })

  test.each(['off', 'false'])('can be turned off: %s', (off) => {
    expect(load(`usage: ${off}`)).toBeUndefined()
  })

  test('takes a database, whose password is a secret, and sinks', () => {
    const env = { LEDGER: 'postgres://me:p%40ss-word@db/usage', TOKEN: 'the-token-there' }
    const usage = load(
      `usage:
        ledger: { postgres: "\${LEDGER}" }
        count_at: off
        sinks:
          billing: { cloudevents: "https://meter.example/events", auth: { bearer: "\${TOKEN}" } }
          file: { jsonl: usage.jsonl, keep: 3 }`,
      env,
    )
    expect(usage).toMatchObject({
      ledger: { kind: 'postgres', url: env.LEDGER, timeout: 10_000 },
      countAt: undefined,
      sinks: [
        { kind: 'cloud-events', type: 'a2m.call', subject: 'owner', batch: 100 },
        { kind: 'json-lines', path: '/srv/data/usage.jsonl', maxBytes: 64 * 1024 ** 2, keep: 3 },
      ],
    })
    expect(secretsOfUsage(usage)).toEqual(['p%40ss-word', 'p@ss-word', 'the-token-there'])
  })

  test.each([
    ['{ kep: 1d }', 'usage.kep: unknown key; did you mean keep?'],
    ['{ on_failure: panic }', 'usage.on_failure: must be continue or stop'],
    ['{ characters_per_token: 0 }', 'usage.characters_per_token: must be a number from 0.1 to 100'],
    ['{ count_at: 24 }', 'usage.count_at: must be an hour from 0 to 23, or off'],
    ['{ held_events: -1 }', 'usage.held_events: must be a whole number'],
    ['{ ledger: { postgres: "http://db/" } }', 'usage.ledger.postgres: must be a postgres:// URL'],
    ['{ sinks: { a: {} } }', 'usage.sinks.a: needs either cloudevents, a URL, or jsonl'],
    [
      '{ sinks: { a: { jsonl: x, cloudevents: "http://h/" } } }',
      'usage.sinks.a: needs either cloudevents',
    ],
    [
      '{ sinks: { a: { jsonl: x, batch: 5 } } }',
      'usage.sinks.a.batch: is for sinks with cloudevents',
    ],
    [
      '{ sinks: { a: { cloudevents: "http://h/", keep: 5 } } }',
      'usage.sinks.a.keep: is for sinks with jsonl',
    ],
    [
      '{ sinks: { a: { cloudevents: "http://u:p@h/" } } }',
      'usage.sinks.a.cloudevents: must not carry a user or password',
    ],
    [
      '{ sinks: { a: { jsonl: usage.db } } }',
      "usage.sinks.a.jsonl: usage.db in data_dir is the gateway's own file",
    ],
    [
      '{ sinks: { a: { jsonl: x }, b: { jsonl: ./x } } }',
      'usage.sinks.b.jsonl: is already the file of usage.sinks.a',
    ],
  ])('%s is refused', (text, message) => {
    expect(() => load(`usage: ${text}`)).toThrow(message)
  })

  test('no store may lie in the file of the ledger', () => {
    const text = 'upstreams: { a: { store: sqlite, path: usage.db } }'
    expect(() => load(text)).toThrow("upstreams.a.path: usage.db in data_dir is the gateway's own")
  })
})
