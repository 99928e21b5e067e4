/**
 * Builds the program into `dist`, in a few files: a start that has to find and read hundreds of them takes a third longer. What is loaded
 * only where it is wanted stays in files of its own. Those that threads are started from keep their places in the source.
 */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const { dependencies } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'))

/** Part of what is built, so that none of its sixty languages is read at a start. */
const BUNDLED = new Set(['zod'])
const packages = Object.keys(dependencies).filter((name) => !BUNDLED.has(name))

await build({
  cwd: ROOT,
  input: {
    'cli/main': 'src/cli/main.ts',
    'stores/worker': 'src/stores/worker.ts',
    'metering/accounting-worker': 'src/metering/accounting-worker.ts',
  },
  platform: 'node',
  external: (id) => packages.some((name) => id === name || id.startsWith(`${name}/`)),
  transform: { target: 'node20' },
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  },
})
// A link to it, as `npm link` makes one, is run as a program.
chmodSync(`${ROOT}/dist/cli/main.js`, 0o755)
writeFileSync(`${ROOT}/dist/.built`, '')
