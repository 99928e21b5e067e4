/** `npm test`: every suite against a fresh build; what follows `--` goes to vitest. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { bootstrap, ROOT } from './bootstrap.mjs'
import { installServices } from './services.mjs'

bootstrap()
installServices()
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
