import { expect, test } from 'vitest'
import { createVersions, versionReply } from '../../../src/edge/versions.js'
import { NOTHING, servedBy } from '../../e2e/edge-fixture.js'

const version = () => ({ served: servedBy(() => NOTHING) })

test('a version is served by what stands for it, none by the first', () => {
  const versions = new Map([
    ['a2m/0.1', version()],
    ['a2m/0.2', version()],
    ['a2m/1.4', version()],
    ['next', version()],
  ])
  const pick = createVersions(versions)
  for (const [header, name] of [
    [undefined, 'a2m/0.1'],
    ['a2m/0.1', 'a2m/0.1'],
    ['a2m/0.2', 'a2m/0.2'],
    ['a2m/1.0', 'a2m/1.4'],
    ['next', 'next'],
  ] as const) {
    expect(pick(header)).toEqual({ name, version: versions.get(name) })
    expect(pick(header)?.version).toBe(versions.get(name))
  }
  const odd = ['a2m/0.3', 'a2m/2.0', '', 'A2M/0.1', 'a2m/0.1, a2m/0.2', '__proto__', 'Next']
  for (const header of odd) expect(pick(header)).toBeUndefined()
})

test('without any version there is no edge', () => {
  expect(() => createVersions(new Map())).toThrow(/no protocol version/)
})

test('a refusal names every version that is spoken', () => {
  const versions = new Map([
    ['a2m/0.2', version()],
    ['a2m/0.1', version()],
  ])
  const { status, body } = versionReply(versions)
  expect(status).toBe(400)
  expect(JSON.parse(body)).toMatchObject({
    id: null,
    error: { code: -32007, data: { supported: ['a2m/0.2', 'a2m/0.1'] } },
  })
})
