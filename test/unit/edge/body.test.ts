import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { isJson } from '../../../src/edge/body.js'

function requestOf(type: string): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  request.headers['content-type'] = type
  return request
}

test.each([
  ['application/json', true],
  ['Application/JSON', true],
  ['application/json;', true],
  ['application/json; foo=bar', true],
  ['application/json ;foo=bar; charset=utf-8', true],
  ['application/json; charset=utf8', true],
  ['application/json; CHARSET = "UTF-8"; v=1', true],
  ['application/json; foo="; charset=latin1"', true],
  ['application/json; charset=latin1', false],
  ['application/json; foo=bar; charset="utf-16"', false],
  ['application/json; charset=', false],
  ['application/json; charset=utf-8; charset=latin1', false],
  ['application/jsonp; charset=utf-8', false],
  ['application/json, text/plain', false],
  ['text/plain; x=application/json', false],
  ['', false],
])('content of the type "%s" is taken: %s', (type, taken) => {
  expect(isJson(requestOf(type))).toBe(taken)
})
