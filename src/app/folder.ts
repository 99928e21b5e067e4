import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those it lies in, where they are missing, each for this user alone: what is kept there are memories. Node's own recursive way never returns where a file system takes
 * no folders and says of one that is there that it is not. Rejects with the system's error.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (thrown) {
    if (await isFolder(path)) return
    const parent = dirname(path)
    if (!isMissing(thrown) || (await isFolder(parent))) throw thrown
    await makeFolder(parent)
    await makeFolder(path)
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
