import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonText, print } from '../../../src/protocol/json.js'
import { withMember, withoutMember } from '../../../src/protocol/members.js'
import { kept, objectSource } from '../../support/json-sources.js'

const NAME = 'a2m-gateway'

test.each([
  ['{}', '{"a2m-gateway":[1]}'],
  ['{ }', '{"a2m-gateway":[1]}'],
  ['{"a":1.0,"2":-0}', '{"a2m-gateway":[1],"a":1.0,"2":-0}'],
  ['{ "a" : "}" }', '{"a2m-gateway":[1], "a" : "}" }'],
])('a member in front of %s', (source, wanted) => {
  expect(withMember(new JsonText(source), NAME, [1]).text).toBe(wanted)
})

test('where there is no object, one is made of it', () => {
  expect(withMember(undefined, NAME, { a: 1 }).text).toBe('{"a2m-gateway":{"a":1}}')
  expect(withoutMember(new JsonText('{"a2m-gateway":{"a":1}}'), NAME)).toEqual({
    value: { a: 1 },
    rest: undefined,
  })
})

test.each([
  ['{"a":1.0,"a2m-gateway":5,"b":{"a2m-gateway":6}}', 5, '{"a":1.0,"b":{"a2m-gateway":6}}'],
  [
    '{"a":"x,\\"a2m-gateway\\":1","a2m\\u002dgateway":[{"x":","}]}',
    [{ x: ',' }],
    '{"a":"x,\\"a2m-gateway\\":1"}',
  ],
  ['{"a":{"a2m-gateway":6}}', undefined, '{"a":{"a2m-gateway":6}}'],
  ['{}', undefined, '{}'],
])('out of %s', (source, value, rest) => {
  const taken = withoutMember(new JsonText(source), NAME)
  expect(taken.value).toEqual(value)
  expect(taken.rest?.text).toBe(rest)
})

test('what was put in comes out and the rest is as it was', () => {
  fc.assert(
    fc.property(objectSource, fc.jsonValue(), (source, value) => {
      const object = new JsonText(kept(source))
      const { value: found, rest } = withoutMember(withMember(object, NAME, value), NAME)
      expect(found).toEqual(JSON.parse(print(value)))
      const empty = Object.keys(Object(object.value())).length === 0
      expect(rest?.text).toBe(empty ? undefined : object.text)
    }),
  )
})

test('a member of megabytes is no trouble', () => {
  const object = new JsonText(`{"a":${JSON.stringify('x"y\\'.repeat(2_000_000))},"b":1.0}`)
  expect(withoutMember(withMember(object, NAME, 1), NAME).rest?.text).toBe(object.text)
})
