import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { withContract } from '../../../src/protocol/contract.js'
import { createIds } from '../../../src/protocol/ids.js'
import { withScope } from '../../../src/protocol/scope.js'
import { systemClock } from '../../../src/protocol/time.js'
import type { StoreOptions } from '../../../src/stores/options.js'
import { openStore, storeContract } from '../../../src/stores/store.js'
import { embeddedStore, openFederation, tierConfig } from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { SEED } from '../read-only.js'
import type { Subject } from '../subject.js'
import { overHttp, sha256 } from './http.js'
import { inProcess } from './in-process.js'
import { addressOf, createFolder, startProgram } from './program.js'

const TOKEN = 'token-of-the-read-only-store'

async function seed(path: string): Promise<void> {
  const newId = createIds(systemClock.now, randomBytes)
  const store = openStore({ path }, { clock: systemClock, newId })
  const records = SEED.map((content) => ({ content, owner: 'anna', tier: 'semantic' }))
  const context = ownerContext('anna')
  for (const record of records) await store.call('memory/remember', { records: [record] }, context)
  await store.close()
}

interface Seeded {
  readonly folder: ReturnType<typeof createFolder>
  readonly options: StoreOptions
}

async function seeded(): Promise<Seeded> {
  const folder = createFolder()
  const path = join(folder.path, 'store.db')
  await seed(path)
  return { folder, options: { path, access: 'read-only', events: { keep: 10_000 } } }
}

/** A built-in store in this thread. */
export async function openReadOnlyStore(): Promise<Subject> {
  const { folder, options } = await seeded()
  const newId = createIds(systemClock.now, randomBytes)
  const store = openStore(options, { clock: systemClock, newId })
  const served = withContract(withScope(store, 'deny'), storeContract(options))
  return inProcess(served, ownerContext, async () => {
    await served.close()
    folder.remove()
  })
}

/** A store of its own over HTTP. */
export async function openReadOnlyStoreOverHttp(): Promise<Subject> {
  const { folder } = await seeded()
  const args = ['store', '--path', 'store.db', '--read-only', '--http', '0']
  const program = startProgram([...args, '--token-sha256', sha256(TOKEN)], folder.path)
  return overHttp(
    await addressOf(program),
    () => TOKEN,
    async () => {
      await program.stop()
      folder.remove()
    },
  )
}

/** A federation of which no upstream can be written to. */
export async function openReadOnlyFederation(): Promise<Subject> {
  const { folder, options } = await seeded()
  const memory = embeddedStore(options)
  const tiers = ['working', 'episodic', 'semantic', 'procedural']
  const opened = await openFederation({
    upstreams: { archive: { memory, config: { access: 'read-only' } } },
    tiers: tiers.map((tier) => tierConfig(tier, 'archive')),
  })
  return inProcess(opened.federation, ownerContext, async () => {
    await opened.close()
    folder.remove()
  })
}
