// A child that speaks A2M over stdio and does one thing wrong, or nothing. Usage: bad-child-program.mjs KIND [ARGUMENT]
import { spawn } from 'node:child_process'
import { appendFileSync, closeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [kind, argument] = process.argv.slice(2)

const record = (content) => ({ id: '1', content, created_at: '2026-01-01T00:00:00.000Z', score: 1 })
const line = (message) => `${JSON.stringify(message)}\n`
const resultOf = ({ id, params }, content = String(params?.query ?? '')) =>
  line({ jsonrpc: '2.0', id, result: { records: [record(content)] } })

const write = (text) => process.stdout.write(text)
const answer = (request) => write(resultOf(request))

/** What a kind does when it starts, and with each request. */
const KINDS = {
  healthy: { call: answer },
  silent: { call: () => {} },
  banner: { start: () => write('facts-server v1.2 ready\n{"level":"info"}\n\n'), call: answer },
  crlf: { call: (request) => write(resultOf(request).replace('\n', '\r\n')) },
  // A reply that breaks off, and then the whole of it.
  half_lines: {
    call: (request) => {
      write(`${resultOf(request).slice(0, 40)}\n`)
      answer(request)
    },
  },
  huge_line: {
    start: () => write(`${'x'.repeat(50_000_000)}\n`),
    call: answer,
  },
  not_utf8: {
    start: () => process.stdout.write(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a])),
    call: answer,
  },
  notifying: {
    call: (request) => {
      const params = { kind: 'written', at: '2026-01-01T00:00:00.000Z' }
      write(line({ jsonrpc: '2.0', method: 'memory/event', params }))
      answer(request)
    },
  },
  chatty_stderr: {
    start: () => process.stderr.write(`one\r\ntwo\n${'y'.repeat(100_000)}\nthree`),
    call: answer,
  },
  crash_at_once: {
    start: () => {
      if (argument) appendFileSync(argument, `${process.pid}\n`)
      process.exit(3)
    },
  },
  crash_on_call: {
    call: (request) => (request.params?.query === 'crash' ? process.exit(4) : answer(request)),
  },
  closes_stdin: {
    start: () => {
      closeSync(0)
      process.stderr.write('closed\n')
      setInterval(() => {}, 1000)
    },
  },
  closes_stdout: {
    start: () => {
      process.stdout.end()
      setInterval(() => {}, 1000)
    },
  },
  // Takes nothing from its stdin for a while, then everything.
  slow_reader: {
    start: () => {
      process.stdin.pause()
      setTimeout(() => process.stdin.resume(), 300)
    },
    call: answer,
  },
  // biome-ignore lint/style/noProcessEnv: its environment is what this kind shows.
  environment: { call: (request) => write(resultOf(request, JSON.stringify(process.env))) },
  // Answers pairs of requests the other way round.
  out_of_order: {
    call: (request) => {
      KINDS.out_of_order.held.push(request)
      if (KINDS.out_of_order.held.length < 2) return
      for (const held of KINDS.out_of_order.held.splice(0).reverse()) answer(held)
    },
    held: [],
  },
  // Answers without a line break and goes.
  last_words: {
    call: (request) => process.stdout.write(resultOf(request).trimEnd(), () => process.exit(0)),
  },
  // Heeds neither the end of its stdin nor SIGTERM.
  stubborn: {
    start: () => {
      process.on('SIGTERM', () => {})
      setInterval(() => {}, 1000)
    },
    call: (request) => write(resultOf(request, String(process.pid))),
  },
  // Starts the real server, which shares its pipes, as npx does; heeds nothing itself.
  wrapper: { start: () => startServer() },
  // Does the same, and then dies.
  wrapper_that_dies: { start: () => startServer().once('spawn', () => process.exit(5)) },
}

function startServer() {
  process.stdin.pause()
  return spawn(process.execPath, [process.argv[1], 'stubborn'], { stdio: 'inherit' })
}

const { start, call } = KINDS[kind]
start?.()
if (call) {
  createInterface({ input: process.stdin }).on('line', (text) => call(JSON.parse(text)))
}
