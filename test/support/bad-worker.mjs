// A thread in the place of a built-in store that does what the `name` of its options says.
import { parentPort, workerData } from 'node:worker_threads'

const ready = () => parentPort.postMessage({ kind: 'ready' })
const answer = (text) => {
  const { id, params } = JSON.parse(text)
  const record = { id: '1', content: params.query, created_at: '2026-01-01T00:00:00.000Z' }
  parentPort.postMessage(JSON.stringify({ jsonrpc: '2.0', id, result: { records: [record] } }))
}

const KINDS = {
  healthy: { start: ready, call: answer },
  late: { start: () => setTimeout(ready, 100), call: answer },
  failing: {
    start: () => parentPort.postMessage({ kind: 'failed', message: 'cannot open facts.db' }),
  },
  throwing: {
    start: () => {
      throw new Error('no such table')
    },
  },
  exiting: { start: () => process.exit(0) },
  crashing: {
    start: ready,
    call: (text) => {
      if (text.includes('crash')) throw new Error('disk /secret/path is gone')
      answer(text)
    },
  },
  environment: {
    start: ready,
    call: (text) => {
      const { id } = JSON.parse(text)
      // biome-ignore lint/style/noProcessEnv: its environment is what this kind shows.
      answer(JSON.stringify({ id, params: { query: JSON.stringify(process.env) } }))
    },
  },
  // Does not end when it is told to.
  stubborn: { start: ready, call: answer, close: () => {} },
}

const { start, call, close = () => parentPort.close() } = KINDS[workerData.name]
parentPort.on('message', (message) => (typeof message === 'string' ? call(message) : close()))
start()
