import { mkdirSync, rmSync } from 'node:fs'
import { join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

/** Within the packages, so that those which are not built in are found. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/a2m-tests', import.meta.url))

/** A program of the tests as one file. */
export interface BuiltProgram {
  readonly path: string
  remove(): void
}

/** Builds a program that is started often: node reads one file in a tenth of the time of hundreds that have to be translated. */
export async function buildProgram(source: string): Promise<BuiltProgram> {
  mkdirSync(CACHE, { recursive: true })
  const path = join(CACHE, `${parse(source).name}-${process.pid}.mjs`)
  await build({
    input: source,
    platform: 'node',
    external: /^(?!zod)[@a-z]/,
    output: { file: path, format: 'esm' },
  })
  return { path, remove: () => rmSync(path, { force: true }) }
}
