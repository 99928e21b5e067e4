import { systemClock } from '../../src/protocol/time.js'
import { createClient } from '../../src/transport/client.js'
import { createStdioWire } from '../../src/transport/stdio.js'
import { badChild } from './bad-child.js'
import { contextWithin } from './contexts.js'

/** Starts a child that ends for nothing but SIGKILL, prints its process id and exits without closing anything. */
const memory = createClient(
  createStdioWire({
    command: badChild('stubborn'),
    baseEnv: {},
    clock: systemClock,
    random: () => 1,
  }),
)
const { records } = await memory.call('memory/recall', {}, contextWithin(10_000))
process.stdout.write(records[0]?.content ?? '', () => process.exit(0))
