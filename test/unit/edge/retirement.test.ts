import { expect, test } from 'vitest'
import { retirementHeaders } from '../../../src/edge/retirement.js'

const SUNSET = Date.UTC(2027, 0, 31)
const NOTHING = { deprecated: undefined, sunset: undefined, link: undefined }
const LINK = 'https://docs.example/a2m%20gone'

test('a structured date (RFC 9745) and an HTTP date (RFC 8594)', () => {
  const deprecated = Date.UTC(2026, 6, 1, 12, 30, 15, 999)
  expect(retirementHeaders({ ...NOTHING, deprecated, sunset: SUNSET })).toEqual({
    deprecation: '@1782909015',
    sunset: 'Sun, 31 Jan 2027 00:00:00 GMT',
  })
})

test('a sunset alone deprecates from then on, a deprecation alone has no sunset', () => {
  expect(retirementHeaders({ ...NOTHING, sunset: SUNSET })).toEqual({
    deprecation: '@1801353600',
    sunset: 'Sun, 31 Jan 2027 00:00:00 GMT',
  })
  expect(retirementHeaders({ ...NOTHING, deprecated: 0, link: LINK })).toEqual({
    deprecation: '@0',
    link: `<${LINK}>; rel="deprecation"`,
  })
})

test('one link is for both', () => {
  expect(retirementHeaders({ ...NOTHING, sunset: SUNSET, link: LINK })?.['link']).toBe(
    `<${LINK}>; rel="deprecation", <${LINK}>; rel="sunset"`,
  )
})

test('a version that stays says nothing', () => {
  expect(retirementHeaders(NOTHING)).toBeUndefined()
})
