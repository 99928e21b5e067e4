import type { Subject, Traits } from '../subject.js'
import { overHttp, sha256 } from './http.js'
import { addressOf, createFolder, startProgram } from './program.js'
import { overStdio } from './stdio.js'
import { STORE } from './store.js'

/** What a store can do that is a program: it also extracts sentences and renders prompts. */
export const STORE_PROGRAM: Traits = {
  ...STORE,
  capabilities: [...STORE.capabilities, 'summarize', 'prompt'],
  owners: 'parameter',
}

/** A store of its own over HTTP; with a token its holder may act for every owner. */
export async function openStoreOverHttp(token?: string): Promise<Subject> {
  const folder = createFolder()
  const secret = token === undefined ? [] : ['--token-sha256', sha256(token)]
  const program = startProgram(
    ['store', '--path', 'store.db', '--http', '0', ...secret],
    folder.path,
  )
  const url = await addressOf(program)
  return overHttp(
    url,
    () => token,
    async () => {
      const code = await program.stop()
      folder.remove()
      if (code !== 0) throw new Error(`a signal ended it with ${code}: ${program.stderr()}`)
    },
  )
}

/** A store of its own as a child on stdio, who takes its caller at its word. */
export async function openStoreOverStdio(): Promise<Subject> {
  const folder = createFolder()
  const program = startProgram(['store', '--path', 'store.db', '--stdio'], folder.path)
  return overStdio(program, () => folder.remove())
}
