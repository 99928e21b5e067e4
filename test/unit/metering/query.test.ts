import { describe, expect, test } from 'vitest'
import { toCsv } from '../../../src/metering/csv.js'
import { QueryError, readFormat, readQuery, readStockQuery } from '../../../src/metering/query.js'

const NOW = Date.UTC(2026, 2, 15, 12, 30)
const HOUR = 3_600_000
const read = (text: string) => readQuery(new URLSearchParams(text), NOW)

describe('a question about usage', () => {
  test('is about thirty days by caller, until now, where it says nothing', () => {
    expect(read('')).toEqual({
      by: ['caller'],
      from: Math.floor((NOW - 720 * HOUR) / HOUR),
      to: Math.ceil(NOW / HOUR),
      where: {},
      limit: 10_000,
    })
  })

  test.each([
    ['2026-03', Date.UTC(2026, 2, 1)],
    ['2026-03-02', Date.UTC(2026, 2, 2)],
    ['2026-03-02T05:00:00Z', Date.UTC(2026, 2, 2, 5)],
    ['2026-03-02T05:00:00 02:00', Date.UTC(2026, 2, 2, 3)],
    ['24h', Date.UTC(2026, 2, 14, 12)],
    ['2d', Date.UTC(2026, 2, 13, 12)],
  ])('may begin at %s', (from, instant) => {
    expect(read(`from=${encodeURIComponent(from)}`).from).toBe(instant / HOUR)
  })

  test('ends after the hour in which it ends', () => {
    expect(read('from=2026-03-01&to=2026-03-01T10:00:01Z').to).toBe(Date.UTC(2026, 2, 1, 11) / HOUR)
  })

  test('takes names in any combination and order, each once', () => {
    expect(read('by=owner,tier&by=owner,month').by).toEqual(['owner', 'tier', 'month'])
  })

  test('narrows by several of a kind', () => {
    expect(read('caller=a&caller=b&owner=').where).toEqual({ caller: ['a', 'b'], owner: [''] })
  })

  test.each([
    ['by=callers', 'by: "callers" is none of caller'],
    ['form=1', '"form" is unknown; known are by'],
    ['from=yesterday', 'from: must be a time such as'],
    ['from=2026-13', 'from: must be a time'],
    ['to=2026-02-30', 'to: must be a time'],
    ['from=2026-03-02&to=2026-03-01', 'to: must be later than from'],
    ['from=2999-01', 'from: must be before now'],
    ['from=1h&from=2h', 'from: may be given once'],
    ['limit=0', 'limit: must be a whole number from 1'],
    ['limit=1.5', 'limit: must be a whole number'],
    ['limit=1000000', 'limit: must be a whole number'],
  ])('%s is refused with what to write instead', (text, message) => {
    expect(() => read(text)).toThrow(QueryError)
    expect(() => read(text)).toThrow(message)
  })

  test('about stock knows whole days, owners and gateways alone', () => {
    const of = (text: string) => readStockQuery(new URLSearchParams(text), NOW)
    expect(of('owner=x&gateway=g&from=2026-03-01T10:00:00Z')).toMatchObject({
      owner: '1:x',
      source: 'g',
      from: Date.UTC(2026, 2, 1),
      to: Date.UTC(2026, 2, 16),
    })
    expect(() => of('by=caller')).toThrow('"by" is unknown')
  })

  test.each([
    ['', undefined, 'json'],
    ['', 'text/csv', 'csv'],
    ['format=json', 'text/csv', 'json'],
    ['format=csv', undefined, 'csv'],
  ] as const)('with %s and Accept %s is answered in %s', (text, accept, format) => {
    expect(readFormat(new URLSearchParams(text), accept)).toBe(format)
    expect(() => readFormat(new URLSearchParams('format=xml'), undefined)).toThrow('json or csv')
  })
})

test('CSV quotes what it must, and leaves no formula to a spreadsheet', () => {
  const lines = [
    { owner: 'a,"b"\n', calls: 1 },
    { owner: '=cmd()', calls: -2 },
    { owner: null, calls: 0.5 },
  ]
  expect(toCsv(lines)).toBe('owner,calls\r\n"a,""b""\n",1\r\n\'=cmd(),-2\r\n,0.5\r\n')
})
