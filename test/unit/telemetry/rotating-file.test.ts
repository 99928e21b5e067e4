import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { RotatingFile, type Rotation } from '../../../src/telemetry/rotating-file.js'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'a2m-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function rotation(overrides: Partial<Rotation> = {}): Rotation {
  const path = overrides.path ?? join(folder(), 'audit.jsonl')
  return { path, maxSize: 1024, maxAge: undefined, keep: 3, now: () => 0, ...overrides }
}

async function openFile(options: Rotation): Promise<RotatingFile> {
  const file = await RotatingFile.open(options)
  onTestFinished(() => file.close())
  return file
}

async function appendAll(file: RotatingFile, lines: readonly string[]): Promise<void> {
  for (let at = 0; at < lines.length; ) at += await file.append(lines.slice(at))
}

/** Contents of all files, the oldest first. */
function contents(path: string): string[] {
  const names = readdirSync(join(path, '..')).sort()
  const current = names.filter((name) => name === 'audit.jsonl')
  const full = names.filter((name) => name !== 'audit.jsonl')
  return [...full, ...current].map((name) => readFileSync(join(path, '..', name), 'utf8'))
}

test('the file and those before it are for their owner alone, also one that was there', async () => {
  const options = rotation({ maxSize: 8 })
  await writeFile(options.path, 'old\n', { mode: 0o644 })
  const file = await openFile(options)
  await appendAll(file, ['first\n', 'second\n'])
  const modes = readdirSync(join(options.path, '..')).map(
    (name) => statSync(join(options.path, '..', name)).mode & 0o777,
  )
  expect(modes).toEqual([0o600, 0o600, 0o600])
})

test('a full file gives way, the oldest go, and numbers rise over restarts', async () => {
  const options = rotation({ maxSize: 10, keep: 2 })
  await appendAll(await openFile(options), ['1234567\n', 'abcdefg\n'])
  await appendAll(await openFile(options), ['ABCDEFG\n', '7654321\n'])
  expect(readdirSync(join(options.path, '..')).sort()).toEqual([
    'audit-000002.jsonl',
    'audit-000003.jsonl',
    'audit.jsonl',
  ])
  expect(contents(options.path)).toEqual(['abcdefg\n', 'ABCDEFG\n', '7654321\n'])
})

test('an old file gives way by the time of its first line, also after a restart', async () => {
  let now = Date.parse('2030-01-01T00:00:00Z')
  const options = rotation({ maxAge: 1000, now: () => now })
  const line = () => `{"at":"${new Date(now).toISOString()}"}\n`
  await appendAll(await openFile(options), [line()])
  now += 999
  await appendAll(await openFile(options), [line()])
  now += 1
  const file = await openFile(options)
  await appendAll(file, [line()])
  now += 999
  await appendAll(file, [line()])
  expect(contents(options.path).map((text) => text.split('\n').length - 1)).toEqual([2, 2])
})

test('a clock that is put back closes no file and confuses no order', async () => {
  let now = 1_000_000
  const options = rotation({ maxSize: 6, maxAge: 1000, now: () => now })
  const file = await openFile(options)
  for (const line of ['one\n', 'two\n', 'six\n']) {
    await file.append([line])
    now -= 500_000
  }
  expect(contents(options.path)).toEqual(['one\n', 'two\n', 'six\n'])
})

test('a line that a crash left half-written is ended before the next', async () => {
  const options = rotation()
  await writeFile(options.path, '{"whole":1}\n{"ha')
  await appendAll(await openFile(options), ['{"next":1}\n'])
  expect(contents(options.path)).toEqual(['{"whole":1}\n{"ha\n{"next":1}\n'])
})

test('a file that somebody has moved or taken away is begun anew', async () => {
  const options = rotation()
  const file = await openFile(options)
  await file.append(['one\n'])
  renameSync(options.path, `${options.path}.mine`)
  await file.append(['two\n'])
  rmSync(options.path)
  await file.append(['three\n'])
  expect(readFileSync(`${options.path}.mine`, 'utf8')).toBe('one\n')
  expect(readFileSync(options.path, 'utf8')).toBe('three\n')
})

test('what stands beside it under another name is left alone', async () => {
  const options = rotation({ maxSize: 4, keep: 1 })
  const others = ['audit-1.jsonl', 'audit-000001.txt', 'audit-x00001.jsonl', 'other-000001.jsonl']
  for (const name of others) await writeFile(join(options.path, '..', name), 'mine')
  await appendAll(await openFile(options), ['a\n', 'b\n', 'c\n', 'd\n', 'e\n', 'f\n'])
  const left = readdirSync(join(options.path, '..'))
  expect(others.every((name) => left.includes(name))).toBe(true)
  expect(left).toHaveLength(others.length + 2)
})

test('where nothing can be written, none of the lines is there, and later all are', async () => {
  const options = rotation({ maxSize: 4 })
  const file = await openFile(options)
  await file.append(['one\n'])
  const place = join(options.path, '..')
  renameSync(place, `${place}-away`)
  onTestFinished(() => rmSync(`${place}-away`, { recursive: true, force: true }))
  await expect(file.append(['two\n'])).rejects.toThrow('ENOENT')
  renameSync(`${place}-away`, place)
  await file.append(['two\n'])
  expect(contents(options.path)).toEqual(['one\n', 'two\n'])
})

test('lines stay whole and in order over files, none of which is larger than it may be', async () => {
  const line = fc
    .string({ maxLength: 20, unit: 'grapheme' })
    .map((text) => `${JSON.stringify(text)}\n`)
  const portions = fc.array(fc.array(line, { minLength: 1, maxLength: 8 }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(portions, fc.integer({ min: 1, max: 120 }), async (given, maxSize) => {
      const options = rotation({ maxSize, keep: 1000 })
      const file = await RotatingFile.open(options)
      for (const lines of given) await appendAll(file, lines)
      await file.close()
      const files = contents(options.path)
      expect(files.join('')).toBe(given.flat().join(''))
      for (const text of files) {
        const single = text.indexOf('\n') === text.length - 1
        expect(single || Buffer.byteLength(text) <= maxSize).toBe(true)
      }
    }),
    { numRuns: 40 },
  )
})
