import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CAPABILITIES } from '../../../src/protocol/methods.js'
import { until } from '../../support/waiting.js'
import type { OwnerName, Subject, Traits } from '../subject.js'
import { overHttp, sha256 } from './http.js'
import { addressOf, createFolder, MAIN, type Program, startProgram } from './program.js'
import { overStdio } from './stdio.js'

/** What the gateways below promise their callers over HTTP. */
export const GATEWAYS: Traits = {
  capabilities: CAPABILITIES,
  tiers: ['working', 'episodic', 'semantic', 'procedural'],
  spill: { tier: 'working', capacity: 20, into: 'episodic' },
  owners: 'principal',
}

const ROOT_KEY = 'root-key-of-the-acceptance-suite'
const keyOf = (owner: OwnerName) => `key-of-${owner}-in-the-acceptance-suite`

const AUTH = `auth:
  keys:
${(['anna', 'ben', 'carl'] as const)
  .map(
    (owner) =>
      `    - { name: ${owner}, owner: ${owner}, sha256: "${sha256(keyOf(owner))}", roles: [agent] }`,
  )
  .join('\n')}
    - { name: outer, owner: "*", sha256: "${sha256(ROOT_KEY)}", roles: [gateway] }
`

/** Three embedded stores. */
const INNER = `name: inner
listen: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
data_dir: ./inner
${AUTH}upstreams:
  working: { store: sqlite, path: working.db }
  knowledge: { store: sqlite, path: knowledge.db }
  procedural: { store: sqlite, path: procedural.db }
tiers:
  working: { kind: working, upstream: working, capacity: 20, spill_to: episodic }
  episodic: { kind: episodic, upstream: knowledge }
  semantic: { kind: semantic, upstream: knowledge }
  procedural: { kind: procedural, upstream: procedural }
`

/** A store of its own for the working tier, and another gateway for all others. */
function outer(innerUrl: string): string {
  return `name: outer
listen: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
data_dir: ./outer
${AUTH}upstreams:
  desk: { store: sqlite, path: desk.db }
  team: { url: "${innerUrl}", auth: { bearer: "\${INNER_KEY}" }, owner: parameter, timeout: 20s }
tiers:
  working: { kind: working, upstream: desk, capacity: 20, spill_to: episodic }
  episodic: { kind: episodic, upstream: team }
  semantic: { kind: semantic, upstream: team }
  procedural: { kind: procedural, upstream: team }
`
}

const TOKEN = 'token-of-the-store-behind-a-gateway'

/** A store each in process, over HTTP and on stdio. */
function mixed(url: string): string {
  const child = ['store', '--stdio', '--path', 'facts.db', '--tiers', 'semantic,skills']
  return `name: mixed
listen: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
data_dir: ./mixed
${AUTH}upstreams:
  desk: { store: sqlite, path: desk.db }
  past: { url: "${url}", auth: { bearer: "${TOKEN}" }, timeout: 20s }
  facts: { command: ${JSON.stringify([process.execPath, MAIN, ...child])}, timeout: 20s }
tiers:
  working: { kind: working, upstream: desk, capacity: 20, spill_to: episodic }
  episodic: { kind: episodic, upstream: past }
  semantic: { kind: semantic, upstream: facts }
  procedural: { kind: procedural, upstream: facts, upstream_tier: skills }
`
}

/** Stores that know nobody, each on a server of its own. */
function tellingOwners(desk: string, facts: string): string {
  return `name: telling
listen: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
data_dir: ./telling
${AUTH}upstreams:
  desk: { url: "${desk}", owner: metadata, timeout: 20s }
  facts: { url: "${facts}", owner: metadata, timeout: 20s }
tiers:
  working: { kind: working, upstream: desk, capacity: 20, spill_to: episodic }
  episodic: { kind: episodic, upstream: facts }
  semantic: { kind: semantic, upstream: facts }
  procedural: { kind: procedural, upstream: desk, upstream_tier: skills }
`
}

interface Running {
  readonly program: Program
  readonly url: string
}

async function startGateway(cwd: string, name: string, config: string): Promise<Running> {
  const file = `${name}.yaml`
  writeFileSync(join(cwd, file), config)
  const program = startProgram(['serve', '--config', file], cwd, { INNER_KEY: ROOT_KEY })
  return { program, url: await addressOf(program) }
}

async function stopAll(programs: readonly Program[]): Promise<void> {
  for (const program of programs) {
    const code = await program.stop()
    if (code !== 0) throw new Error(`a signal ended it with ${code}: ${program.stderr()}`)
  }
}

/** A gateway over HTTP with three embedded stores. */
export async function openGateway(): Promise<Subject> {
  const folder = createFolder()
  const { program, url } = await startGateway(folder.path, 'inner', INNER)
  return overHttp(url, keyOf, async () => {
    await stopAll([program])
    folder.remove()
  })
}

/** A gateway over HTTP with a store of its own and another gateway behind it. */
export async function openGatewayBehindGateway(): Promise<Subject> {
  const folder = createFolder()
  const inner = await startGateway(folder.path, 'inner', INNER)
  const front = await startGateway(folder.path, 'outer', outer(inner.url))
  return overHttp(front.url, keyOf, async () => {
    await stopAll([front.program, inner.program])
    folder.remove()
  })
}

/** A gateway over HTTP with stores in process, over HTTP and on stdio behind it, once all of them have described themselves. */
export async function openMixedGateway(): Promise<Subject> {
  const folder = createFolder()
  const args = ['store', '--path', 'past.db', '--http', '0', '--tiers', 'episodic']
  const store = startProgram([...args, '--token-sha256', sha256(TOKEN)], folder.path)
  const gateway = await startGateway(folder.path, 'mixed', mixed(await addressOf(store)))
  const subject = overHttp(gateway.url, keyOf, async () => {
    await stopAll([gateway.program, store])
    folder.remove()
  })
  await until(async () => (await subject.send(DESCRIBE, 'anna'))?.includes('"scopes"') ?? false)
  return subject
}

/** A gateway over HTTP that tells owners in metadata to stores over HTTP without a token. */
export async function openGatewayTellingOwners(): Promise<Subject> {
  const folder = createFolder()
  const store = (name: string, tiers: string) =>
    startProgram(['store', '--path', name, '--http', '0', '--tiers', tiers], folder.path)
  const stores = [store('desk.db', 'working,skills'), store('facts.db', 'episodic,semantic')]
  const [desk = '', facts = ''] = await Promise.all(stores.map(addressOf))
  const gateway = await startGateway(folder.path, 'telling', tellingOwners(desk, facts))
  const subject = overHttp(gateway.url, keyOf, async () => {
    await stopAll([gateway.program, ...stores])
    folder.remove()
  })
  await until(async () => (await subject.send(DESCRIBE, 'anna'))?.includes('"scopes"') ?? false)
  return subject
}

const DESCRIBE = '{"jsonrpc":"2.0","id":1,"method":"memory/describe"}'

/** The gateway that is there without any configuration, on stdio. */
export async function openDefaultGateway(): Promise<Subject> {
  const folder = createFolder()
  const program = startProgram(['stdio'], folder.path)
  return overStdio(program, () => folder.remove())
}
