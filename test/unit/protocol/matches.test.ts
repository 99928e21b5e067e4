import { describe, expect, test } from 'vitest'
import { JsonText } from '../../../src/protocol/json.js'
import { matches } from '../../../src/protocol/matches.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'

function record(fields: Partial<MemoryRecord> = {}, metadata?: string): MemoryRecord {
  return {
    id: 'r1',
    content: 'c',
    created_at: '2026-07-28T10:15:30.123Z',
    role: 'user',
    tier: 'episodic',
    ...fields,
    ...(metadata === undefined ? {} : { metadata: new JsonText(metadata) }),
  }
}

/** From JSON, so that `__proto__` is a name like any other. */
function where(text: string): Readonly<Record<string, unknown>> {
  return JSON.parse(text)
}

describe('one test', () => {
  test.each([
    ['{}', true],
    ['{"role":"user"}', true],
    ['{"role":"assistant"}', false],
    ['{"role":["assistant","user"]}', true],
    ['{"role":[]}', false],
    ['{"role":null}', false],
    ['{"role":[null,"user"]}', true],
    ['{"group":null}', true],
    ['{"group":["g",null]}', true],
    ['{"group":["g"]}', false],
    ['{"owner":null}', true],
    ['{"role":"user","tier":["episodic","semantic"]}', true],
    ['{"role":"user","tier":"semantic"}', false],
    ['{"id":"r1"}', true],
    ['{"content":"c"}', true],
    ['{"created_at":"2026-07-28T10:15:30.123Z"}', true],
    ['{"created_at":"2026-07-28T12:15:30.123+02:00"}', true],
    ['{"created_at":["x","2026-07-28T10:15:30.123000Z"]}', true],
    ['{"created_at":"2026-07-28T10:15:30Z"}', false],
    ['{"created_at":1785233730123}', false],
  ])('of a field: %s is %s', (text, wanted) => {
    expect(matches(record(), where(text))).toBe(wanted)
  })

  const metadata =
    '{"n":1.0,"zero":-0,"big":9007199254740993,"huge":1e400,"yes":true,"none":null,"tags":["a","b"],' +
    '"deep":{"a":{"b":[1,{"c":0}]}},"role":"hidden","when":"2026-07-28T10:15:30.123Z","":"empty","1":"one"}'

  test.each([
    ['{"n":1}', true],
    ['{"n":"1"}', false],
    ['{"n":[2,1.00]}', true],
    ['{"zero":0}', true],
    ['{"big":9007199254740993}', true],
    ['{"huge":1e401}', true],
    ['{"yes":true}', true],
    ['{"yes":1}', false],
    ['{"none":null}', true],
    ['{"absent":null}', true],
    ['{"absent":"x"}', false],
    ['{"tags":["a","b"]}', true],
    ['{"tags":["b","a"]}', false],
    ['{"tags":"a"}', false],
    ['{"tags":[["a","b"],"x"]}', true],
    ['{"deep":{"a":{"b":[1,{"c":-0}]}}}', true],
    ['{"deep":{"a":{"b":[1,{"c":1}]}}}', false],
    ['{"deep":{"a":{"b":[1]}}}', false],
    ['{"deep":{"a":{"b":{"0":1,"1":{"c":0}}}}}', false],
    ['{"deep":{}}', false],
    ['{"role":"hidden"}', false],
    ['{"when":"2026-07-28T12:15:30.123+02:00"}', false],
    ['{"":"empty"}', true],
    ['{"1":"one"}', true],
  ])('of metadata: %s is %s', (text, wanted) => {
    expect(matches(record({}, metadata), where(text))).toBe(wanted)
  })
})

test('names of the specification never test metadata', () => {
  for (const name of ['owner', 'tier', 'key', 'session', 'score', 'salience', 'uri', 'revision']) {
    const subject = record({ tier: undefined }, JSON.stringify({ [name]: 'x' }))
    expect(matches(subject, { [name]: 'x' })).toBe(false)
    expect(matches(subject, { [name]: null })).toBe(true)
  }
})

test('the whole of metadata can be tested', () => {
  expect(matches(record({}, '{"a":1.0,"b":[]}'), { metadata: { b: [], a: 1 } })).toBe(true)
  expect(matches(record({}, '{"a":1}'), { metadata: { a: 1, b: null } })).toBe(false)
  expect(matches(record(), { metadata: null })).toBe(true)
})

describe.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
  'the name %s',
  (name) => {
    const quoted = JSON.stringify(name)

    test('is absent where metadata does not have it', () => {
      expect(matches(record({}, '{}'), where(`{${quoted}:null}`))).toBe(true)
      expect(matches(record(), where(`{${quoted}:null}`))).toBe(true)
      expect(matches(record({}, '{}'), where(`{${quoted}:{}}`))).toBe(false)
    })

    test('is a name like any other where it does', () => {
      const subject = record({}, `{${quoted}:{"a":1},"x":{${quoted}:1}}`)
      expect(matches(subject, where(`{${quoted}:{"a":1}}`))).toBe(true)
      expect(matches(subject, where(`{${quoted}:{"a":2}}`))).toBe(false)
      expect(matches(subject, where(`{"x":{${quoted}:1}}`))).toBe(true)
      expect(matches(subject, where('{"x":{}}'))).toBe(false)
    })
  },
)

test('metadata of any depth is compared without running out of stack', () => {
  const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`
  expect(matches(record({}, deep), where('{"a":[[[1]]]}'))).toBe(false)
})
