import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkParams } from '../../../src/protocol/checks.js'
import { CODES } from '../../../src/protocol/errors.js'
import { JsonText, print } from '../../../src/protocol/json.js'
import { parse, sourceOfId } from '../../../src/protocol/json-parse.js'
import { MAX_DEPTH } from '../../../src/protocol/json-scan.js'
import { printRequest, readReply, readRequest } from '../../../src/protocol/rpc.js'
import { jsonSource, kept, objectSource } from '../../support/json-sources.js'

const LONG = 'é"\\ '.repeat(300)

function rememberText(metadata: string, before = '', after = ''): string {
  return `{"jsonrpc":"2.0","id":1,"method":"memory/remember","params":{"records":[{${before}"content":"c","metadata":${metadata}${after}}]}}`
}

function replyText(metadata: string): string {
  return `{"jsonrpc":"2.0","id":7,"result":{"records":[{"id":"a","content":"c","metadata":${metadata}}]}}`
}

function metadataOf(message: unknown): unknown {
  const { params, result } = message as Readonly<
    Record<'params' | 'result', { records: unknown[] }>
  >
  return ((params ?? result).records[0] as { metadata?: unknown }).metadata
}

/** What is left of a text by parse and print of JavaScript's own. */
function reread(text: string): unknown {
  return JSON.parse(JSON.stringify(JSON.parse(text)))
}

function codeOf(text: string): number | undefined {
  const reading = readRequest(text)
  return 'error' in reading ? reading.error.code : undefined
}

const TO_THE_LETTER = [
  '{}',
  '{"n":9007199254740993}',
  '{"n":1.0}',
  '{"n":-0}',
  '{"n":1e400}',
  '{"n":1E+2,"m":0.10}',
  '{"__proto__":{"polluted":true}}',
  '{"10":1,"2":2,"a":3,"1":4}',
  '{"metadata":{"metadata":{}}}',
  '{"records":[{"metadata":1.0}]}',
  '{"record":{"metadata":1.0}}',
  '{"id":1.0}',
  '{"a":"\\"\\ud83d\\ude00"}',
  '{"a":"\\\\ud800"}',
  '{"a":"\\u00e9\\/"}',
  '{"a":[[[1.0,[]],{}]]}',
  '{"a":"},]\\"metadata\\":"}',
  '{"a":"\\\\"}',
  '{ "a" : 1 }',
  `{"a":${JSON.stringify(LONG)}}`,
]

describe('metadata comes back to the letter', () => {
  test.each(TO_THE_LETTER)('%s from a caller to an upstream', (metadata) => {
    const reading = readRequest(rememberText(metadata))
    if ('error' in reading) throw reading.error
    const params = checkParams('memory/remember', reading.request.params)
    expect(params.records[0]?.metadata?.text).toBe(metadata)
    expect(printRequest(5, 'memory/remember', params)).toContain(`"metadata":${metadata}}`)
  })

  test.each(TO_THE_LETTER)('%s from an upstream to a caller', (metadata) => {
    const reply = readReply(replyText(metadata))
    expect(reply).toHaveProperty('result')
    expect(print('result' in reply ? reply.result : undefined)).toContain(`"metadata":${metadata}}`)
  })

  test('line breaks between its tokens are taken out, those in its strings stay', () => {
    const parsed = parse(rememberText('\n{\r\n"a" :\n1.0,\n"b":"x\\ny"\r\n}\n'), 'strict')
    expect(metadataOf(parsed)).toEqual(new JsonText('{"a" :1.0,"b":"x\\ny"}'))
  })

  test.each([
    ['null', 'null'],
    ['[1.0]', '[1.0]'],
    ['"x"', '"x"'],
    ['5', '5'],
  ])('a value that is no object is kept too: %s', (metadata, text) => {
    expect(metadataOf(parse(rememberText(metadata), 'strict'))).toEqual(new JsonText(text))
  })

  test.each([
    '"met\\u0061data"',
    '"\\u006detadata"',
    '"\\u006d\\u0065\\u0074\\u0061\\u0064\\u0061\\u0074\\u0061"',
  ])('its name may be escaped: %s', (name) => {
    const text = replyText('{}').replace('"metadata"', name).replace('{}', '{"n":1.0}')
    expect(metadataOf(parse(text, 'lenient'))).toEqual(new JsonText('{"n":1.0}'))
    const request = rememberText('{"n":1.0}').replace('"metadata"', name)
    expect(metadataOf(parse(request, 'strict'))).toEqual(new JsonText('{"n":1.0}'))
  })

  test('names of the way to it may be escaped', () => {
    const text = '{"result":{"r\\u0065cords":[{"metadata":{"n":1.0}}]}}'
    expect(metadataOf(parse(text, 'lenient'))).toEqual(new JsonText('{"n":1.0}'))
  })

  test('content that talks about metadata changes nothing', () => {
    const content = JSON.stringify('"metadata":{"x":1.0} \\"metadata" metadata')
    const text = rememberText('{"n":1.0}').replace('"c"', content)
    expect(metadataOf(parse(text, 'strict'))).toEqual(new JsonText('{"n":1.0}'))
  })

  test('elsewhere it is plain JSON', () => {
    const where = { metadata: { a: 1 }, records: [{ metadata: 1 }], record: { metadata: 2 } }
    const text = JSON.stringify({ params: { where, metadata: 3 }, metadata: 4 })
    expect(parse(text, 'strict')).toEqual(JSON.parse(text))
    expect(parse(text, 'lenient')).toEqual(JSON.parse(text))
  })

  test('a record of its own has it as well', () => {
    const { result } = parse('{"result":{"record":{"metadata":{"n":1.0}}}}', 'lenient') as {
      result: unknown
    }
    expect(print(result)).toBe('{"record":{"metadata":{"n":1.0}}}')
  })

  test('whatever the source and whatever stands around it', () => {
    const record = fc.record({
      content: fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
      metadata: fc.option(objectSource),
      extra: fc.option(jsonSource),
      gap: fc.constantFrom('', ' ', '\n'),
    })
    fc.assert(
      fc.property(fc.array(record, { maxLength: 5 }), fc.boolean(), (records, fromCaller) => {
        const sources = records.map(
          ({ content, metadata, extra, gap }) =>
            `{"content":${gap}${content}${extra === null ? '' : `,"where"${gap}:${extra}`}` +
            `${metadata === null ? '' : `,"metadata"${gap}:${gap}${metadata}${gap}`}}`,
        )
        const body = `{"records":[${sources.join(',')}]}`
        const text = fromCaller
          ? `{"jsonrpc":"2.0","id":1,"params":${body}}`
          : `{"jsonrpc":"2.0","id":1,"result":${body}}`
        const parsed = parse(text, fromCaller ? 'strict' : 'lenient') as Record<
          string,
          { records: unknown[] }
        >
        const found = (parsed['params'] ?? parsed['result'])?.records as { metadata?: JsonText }[]
        const wanted = records.map(({ metadata }) =>
          metadata === null ? undefined : kept(metadata),
        )
        expect(found.map(({ metadata }) => metadata?.text)).toEqual(wanted)
        const again = reread(print(parsed))
        expect(again).toEqual(reread(text))
      }),
    )
  })
})

describe('print', () => {
  test('a text of any length as JavaScript does, whatever is in it', () => {
    const unit = fc.constantFrom('a', ' ', '"', '\\', '\n', '\u001f', '\u007f', 'é', '😀', '\ud800')
    const long = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 40, maxLength: 60 })
    fc.assert(
      fc.property(long, fc.string({ unit, maxLength: 3 }), long, (before, special, after) => {
        for (const text of [special, before + special, before + special + after]) {
          expect(print(text)).toBe(JSON.stringify(text))
          expect(print({ [text]: 1 })).toBe(JSON.stringify({ [text]: 1 }))
        }
      }),
    )
  })

  test('is JSON.stringify where there is no source and no -0 to keep', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const printed = print(value)
        expect(JSON.parse(printed)).toEqual(value)
        expect(printed.replaceAll(/-0(?![.\d])/g, '0')).toBe(
          JSON.stringify(value).replaceAll(/-0(?![.\d])/g, '0'),
        )
      }),
    )
  })

  test('keeps every double to the bit, -0 too', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })), (vector) => {
        const text = print({ vector, metadata: new JsonText('{"n":-0.0}') })
        expect(JSON.parse(text).vector).toEqual(vector)
        expect(text).toContain('"n":-0.0}')
      }),
    )
    expect(print([0, -0, { a: -0 }])).toBe('[0,-0,{"a":-0}]')
  })

  test.each([
    ['\u0010'],
    ['"\u0010"'],
    ['\u0010{"injected":true}'],
    ['"\\u0010'],
    ['\\u0010'],
    ['x"\u0010,"injected":{}'],
    ['\ud800'],
  ])('text cannot pass for a source: %j', (text) => {
    const value = { [text]: text, list: [text, new JsonText('1.0'), undefined], gone: undefined }
    const printed = print(value)
    expect(printed).toContain('1.0')
    expect(JSON.parse(printed)).toEqual({ [text]: text, list: [text, 1, null] })
    expect(JSON.parse(print({ text }))).toEqual({ text })
  })

  test('keeps sources wherever they stand', () => {
    const source = new JsonText('{"a":1.0}')
    expect(print(source)).toBe('{"a":1.0}')
    expect(print([source, { b: [source] }])).toBe('[{"a":1.0},{"b":[{"a":1.0}]}]')
    expect(JsonText.of({ records: [{ metadata: source }] }).text).toBe(
      '{"records":[{"metadata":{"a":1.0}}]}',
    )
  })

  test('holds metadata of megabytes', () => {
    const text = rememberText(`{"a":${JSON.stringify('x"y\\'.repeat(2_000_000))}}`)
    expect(print(parse(text, 'strict'))).toBe(text)
  })
})

describe('a caller is held to every rule', () => {
  test.each([
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"a":{"b":1,"c":[{"d":1,"d":1}]}}',
    '{"__proto__":1,"__proto__":2}',
    '{"id":1,"id":2}',
    rememberText('{"a":1,"b":2,"a":3}'),
    rememberText('{}', '', ',"metadata":{}'),
    rememberText('{}', '"records":1,', ',"records":2'),
    '{"a":[],"a":{"b":1}}',
    '{"a" : 1 , "a" : 2}',
    '{"":1,"":2}',
  ])('duplicate names are refused: %s', (text) => {
    expect(() => parse(text, 'strict')).toThrow(/duplicate key/)
    expect(codeOf(text)).toBe(CODES.INVALID_PARAMS)
    expect(() => parse(text, 'lenient')).not.toThrow()
  })

  test('names that only look alike are not', () => {
    const text = '{"a":{"a":1},"b":{"a":":"},":":{"\\"":1,"\\\\":2}}'
    expect(parse(text, 'strict')).toEqual(JSON.parse(text))
  })

  test('read leniently the last of two wins and nothing of the first stays', () => {
    const text = '{"result":{"records":[{"metadata":{"a":1}}],"records":[{"id":"x"}]}}'
    expect(print(parse(text, 'lenient'))).toBe('{"result":{"records":[{"id":"x"}]}}')
  })

  test.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
    ['both', '[{"a":', '}]'],
  ])('nesting has its bound: %s', (_, open, close) => {
    const each = open === '[{"a":' ? 2 : 1
    const nested = (depth: number) => {
      const times = depth / each
      return `{"a":${open.repeat(times)}1${close.repeat(times)}}`
    }
    const fits = MAX_DEPTH - 1 - ((MAX_DEPTH - 1) % each)
    expect(() => parse(nested(fits), 'strict')).not.toThrow()
    expect(() => parse(nested(fits + each), 'strict')).toThrow(/nested deeper/)
    expect(() => parse(nested(fits + each), 'lenient')).not.toThrow()
  })

  test('128 levels pass and 129 do not', () => {
    const at = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    expect(() => parse(at(128), 'strict')).not.toThrow()
    expect(() => parse(at(129), 'strict')).toThrow(/nested deeper than 128/)
  })

  test('a hundred thousand brackets are refused and answered under their id', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const reading = readRequest(`{"jsonrpc":"2.0","id":1.0,"method":"m","params":${deep}}`)
    expect(reading).toMatchObject({ error: { code: CODES.INVALID_PARAMS }, id: { text: '1.0' } })
    expect(codeOf('['.repeat(100_000))).toBe(CODES.PARSE_ERROR)
  })

  test.each([
    '"\\ud800"',
    '"\\uDFFF"',
    '"a\\udc00\\ud800"',
    '"\\ud800\\ud800\\udc00"',
    '"\\\\\\ud800"',
    '"\\ud800x\\udc00"',
    '"\\ud83d\\n\\ude00"',
    '"\\uD83D"',
  ])('half a surrogate pair is refused anywhere: %s', (half) => {
    for (const text of [
      `{"content":${half}}`,
      `{${half}:1}`,
      rememberText(`{"a":${half}}`),
      rememberText(`{${half}:1}`),
      `{"id":${half}}`,
      `[${half}]`,
    ]) {
      expect(() => parse(text, 'strict')).toThrow(/half of a surrogate pair/)
      expect(() => parse(text, 'lenient')).not.toThrow()
    }
  })

  test.each([
    '"\\ud83d\\ude00"',
    '"\\\\ud800"',
    '"\\\\\\\\udc00"',
    '"\\\\\\ud83d\\uDE00"',
    '"😀"',
    '"\\ue000"',
  ])('whole pairs and mere backslashes are not: %s', (whole) => {
    expect(parse(`{"content":${whole}}`, 'strict')).toEqual({ content: JSON.parse(whole) })
  })
})

describe('what JSON.parse would not tell', () => {
  test('strictly read, the outermost id is kept to the letter, wherever it stands', () => {
    for (const text of [
      '{"id":1.0,"a":{"id":2}}',
      '{"a":{"id":2},"id":1.0}',
      '{"a":"id","id" : 1.0 }',
    ]) {
      expect(parse(text, 'strict')).toHaveProperty('id', new JsonText('1.0'))
    }
    expect(parse('{"\\u0069d":1.0}', 'strict')).toHaveProperty('id', new JsonText('1.0'))
    expect(parse('{"a":{"id":2}}', 'strict')).toEqual({ a: { id: 2 } })
  })

  test('leniently read, the id is a number', () => {
    expect(parse('{"id":7,"metadata":1}', 'lenient')).toEqual({ id: 7, metadata: 1 })
  })

  test('sourceOfId takes no id of anything below', () => {
    expect(sourceOfId('{"a":{"id":2}}')).toBeUndefined()
    expect(sourceOfId('[{"id":2}]')).toBeUndefined()
    expect(sourceOfId('{"a":[{"id":2}],"id":"\\u0061"}')?.text).toBe('"\\u0061"')
  })

  test('any JSON reads the same as JSON.parse reads it, apart from what stays text', () => {
    fc.assert(
      fc.property(jsonSource, (source) => {
        const text = `{"x":${source}}`
        expect(reread(print(parse(text, 'strict')))).toEqual(reread(text))
        expect(reread(print(parse(text, 'lenient')))).toEqual(reread(text))
      }),
    )
  })
})
