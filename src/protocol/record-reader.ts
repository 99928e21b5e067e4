import { JsonReader, UNUSUAL } from './json-reader.js'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, OPEN_ARRAY, OPEN_OBJECT } from './json-spans.js'
import type { MemoryRecord } from './records.js'
import { isTimestamp } from './time.js'

/** A result that holds records alone, each as the schema would leave it. */
export class RecordList {
  readonly records: MemoryRecord[]
  constructor(records: MemoryRecord[]) {
    this.records = records
  }
}

/** The answer to request `id` that such a result came in. */
export interface RecordsReply {
  readonly id: number
  readonly result: RecordList
}

/**
 * Reads a reply whose result is a list of records, as nearly every answer is, and looks at each character once: a string without escapes
 * is a slice of the text, metadata its own source. That takes a third of the time of JSON.parse, a search for the sources and a
 * schema. Undefined where the text is anything else or anything is unusual, which says nothing against it.
 */
export function readRecords(text: string): RecordsReply | undefined {
  if (!text.startsWith('{"jsonrpc"')) return undefined
  try {
    return new RecordReader(text).reply()
  } catch (thrown) {
    if (thrown === UNUSUAL) return undefined
    throw thrown
  }
}

type ReadField = (record: MemoryRecord, reader: RecordReader) => void

type Field = Exclude<keyof MemoryRecord, 'embedding'>

const FIELDS: { readonly [F in Field]-?: ReadField } = {
  id: (record, reader) => {
    record.id = solid(reader.string())
  },
  content: (record, reader) => {
    record.content = reader.string()
  },
  created_at: (record, reader) => {
    record.created_at = timestamp(reader.string())
  },
  role: (record, reader) => {
    record.role = reader.string()
  },
  metadata: (record, reader) => {
    record.metadata = reader.source()
  },
  group: (record, reader) => {
    record.group = reader.string()
  },
  tier: (record, reader) => {
    record.tier = reader.string()
  },
  salience: (record, reader) => {
    record.salience = reader.number()
  },
  accessed_at: (record, reader) => {
    record.accessed_at = timestamp(reader.string())
  },
  access_count: (record, reader) => {
    record.access_count = whole(reader.number())
  },
  owner: (record, reader) => {
    record.owner = reader.string()
  },
  session: (record, reader) => {
    record.session = reader.string()
  },
  key: (record, reader) => {
    record.key = reader.string()
  },
  revision: (record, reader) => {
    record.revision = whole(reader.number())
  },
  uri: (record, reader) => {
    record.uri = reader.string()
  },
  media_type: (record, reader) => {
    record.media_type = reader.string()
  },
  score: (record, reader) => {
    record.score = reader.number()
  },
}
const NAMES: ReadonlyMap<string, Field> = new Map(
  Object.keys(FIELDS).map((name) => [name, name as Field]),
)

function solid(text: string): string {
  if (text === '') throw UNUSUAL
  return text
}

function timestamp(text: string): string {
  if (!isTimestamp(text)) throw UNUSUAL
  return text
}

function whole(value: number): number {
  if (!Number.isSafeInteger(value)) throw UNUSUAL
  return value
}

/** A name as it stands in the text, colon included, and what reads its value. */
interface Named {
  readonly token: string
  readonly field: Field
  readonly read: ReadField
}

class RecordReader extends JsonReader {
  /** The names of the last record: those of the next are most likely the same. */
  readonly #names: Named[] = []

  reply(): RecordsReply {
    let id: number | undefined
    let result: RecordList | undefined
    this.members((name) => {
      if (name === 'id') id = this.number()
      else if (name === 'result') result = this.#result()
      else if (name !== 'jsonrpc' || this.string() !== '2.0') throw UNUSUAL
    })
    if (id === undefined || result === undefined || !this.ended()) throw UNUSUAL
    return { id, result }
  }

  #result(): RecordList {
    let records: MemoryRecord[] | undefined
    this.members((name) => {
      if (name !== 'records' || records !== undefined) throw UNUSUAL
      records = this.#records()
    })
    if (records === undefined) throw UNUSUAL
    return new RecordList(records)
  }

  #records(): MemoryRecord[] {
    const records: MemoryRecord[] = []
    this.expect(OPEN_ARRAY)
    this.space()
    if (this.text.charCodeAt(this.at) === CLOSE_ARRAY) {
      this.at++
      return records
    }
    do {
      this.space()
      records.push(this.#record())
    } while (this.goesOn(CLOSE_ARRAY))
    return records
  }

  #record(): MemoryRecord {
    const record: MemoryRecord = { id: '', content: ABSENT, created_at: '' }
    this.expect(OPEN_OBJECT)
    let place = 0
    do {
      this.space()
      const { field, read } = this.#name(place++)
      this.space()
      if (this.text.charCodeAt(this.at) === LETTER_N) this.#absent(record, field)
      else read(record, this)
    } while (this.goesOn(CLOSE_OBJECT))
    if (record.id === '' || record.content === ABSENT || record.created_at === '') throw UNUSUAL
    return record
  }

  #name(place: number): Named {
    const guess = this.#names[place]
    if (guess !== undefined && this.text.startsWith(guess.token, this.at)) {
      this.at += guess.token.length
      return guess
    }
    const start = this.at
    const field = NAMES.get(this.string())
    if (field === undefined) throw UNUSUAL
    this.expect(COLON)
    const named = { token: this.text.slice(start, this.at), field, read: FIELDS[field] }
    this.#names[place] = named
    return named
  }

  /** Null is absent; that it takes away what the same name gave before is left to others. */
  #absent(record: MemoryRecord, field: Field): void {
    if (record[field] !== undefined) throw UNUSUAL
    this.word('null')
  }
}

/** Stands for a content that has not come; the reader of a reply that has this one in it leaves it to others. */
const ABSENT = '\ud800'
const LETTER_N = 0x6e
