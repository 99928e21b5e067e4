import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AUDIENCE, createIssuer } from './issuer.js'
import { find, freePorts, Running } from './processes.js'
import { Receiver } from './receiver.js'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const ISSUER = 'https://id.example'
const STORE_TOKEN = 'token-of-the-gateway-at-the-store'

/** Agents of two teams that have keys, and who looks after them. Those of support show tokens of an issuer. */
export const AGENTS = {
  planner: { owner: 'planner', roles: ['agent', 'blue'] },
  researcher: { owner: 'researcher', roles: ['agent', 'blue'] },
  coder: { owner: 'coder', roles: ['agent', 'blue'] },
  importer: { owner: 'importer', roles: ['agent', 'green'] },
  auditor: { owner: '*', roles: ['reader'] },
} as const
export type Agent = keyof typeof AGENTS

/** The agent that has no key. */
export const TOKEN_HOLDER = 'support'

export function keyOf(agent: Agent): string {
  return `key-of-${agent}-0123456789abcdef`
}

/** A gateway over three stores, with all that it needs and a Prometheus that looks at it every second. */
export interface World {
  readonly gateway: string
  readonly prometheus: string
  /** The store of conversations, and the Redis that counts. */
  readonly episodes: Running
  readonly redis: Running
  /** A token for the agent that has no key. */
  readonly token: () => Promise<string>
  close(): Promise<void>
}

export async function startWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'a2m-dashboards-'))
  const ports = await portsOf()
  const programs = programsIn(folder, ports)
  const issuer = await createIssuer(ISSUER)
  const receiver = await Receiver.listen(ports.receiver, issuer.keySet)
  const close = async (): Promise<void> => {
    for (const program of Object.values(programs).toReversed()) await program.stop()
    await receiver.close()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    for (const program of Object.values(programs)) await program.start()
  } catch (thrown) {
    await close()
    throw thrown
  }
  const { episodes, redis } = programs
  const [gateway, prometheus] = [url(ports.gateway), url(ports.prometheus)]
  const token = () => issuer.tokenFor(TOKEN_HOLDER)
  return { gateway, prometheus, episodes, redis, token, close }
}

type Ports = Readonly<Record<(typeof NAMES)[number], number>>
const NAMES = ['episodes', 'facts', 'redis', 'receiver', 'gateway', 'admin', 'prometheus'] as const

async function portsOf(): Promise<Ports> {
  const ports = await freePorts(NAMES.length)
  const entries = NAMES.map((name, index) => [name, ports[index] ?? 0] as const)
  return Object.fromEntries(entries) as Ports
}

function url(port: number): string {
  return `http://127.0.0.1:${port}`
}

/** In the order in which they are started. */
function programsIn(folder: string, ports: Ports) {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const node = (...args: string[]) => [process.execPath, MAIN, ...args]
  const serve = (name: string, config: object) =>
    new Running(
      name,
      node('serve', '--config', file(`${name}.yaml`, JSON.stringify(config))),
      LISTENING,
    )
  const redis = [find('redis-server'), '--port', `${ports.redis}`, '--bind', '127.0.0.1']
  const storing = ['--path', join(folder, 'episodes.db'), '--http', `${ports.episodes}`]
  const episodes = [
    'store',
    ...storing,
    '--tiers',
    'episodic',
    '--token-sha256',
    sha256(STORE_TOKEN),
  ]
  const scraping = file('prometheus.yml', JSON.stringify(scrapeConfig(ports)))
  const keeping = `--storage.tsdb.path=${join(folder, 'prometheus')}`
  const listening = `--web.listen-address=127.0.0.1:${ports.prometheus}`
  const prometheus = [find('prometheus'), `--config.file=${scraping}`, keeping, listening]
  return {
    redis: new Running('redis', [...redis, '--dir', folder, '--save', ''], /Ready to accept/),
    episodes: new Running('episodes', node(...episodes), LISTENING),
    facts: serve('facts', factsConfig(folder, ports)),
    gateway: serve('gateway', gatewayConfig(folder, ports)),
    prometheus: new Running('prometheus', prometheus, /Server is ready/),
  }
}

const LISTENING = /^listening on http/m

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function scrapeConfig({ admin }: Ports): object {
  const target = { static_configs: [{ targets: [`127.0.0.1:${admin}`] }] }
  const every = { scrape_interval: '1s', scrape_timeout: '1s' }
  return { global: every, scrape_configs: [{ job_name: 'a2m-gateway', ...target }] }
}

/** A memory that believes the gateway's tokens. */
function factsConfig(folder: string, ports: Ports): object {
  const issuer = {
    issuer: 'a2m-gateway',
    audience: url(ports.facts),
    jwks_uri: `${url(ports.gateway)}/.well-known/jwks.json`,
    algorithms: ['EdDSA'],
    roles: ['gateway'],
    cooldown: '1s',
  }
  return {
    name: 'facts',
    listen: { port: ports.facts },
    admin: 'off',
    data_dir: join(folder, 'facts'),
    auth: { jwt: [issuer] },
    upstreams: { store: { store: 'sqlite', path: 'facts.db' } },
    tiers: { semantic: { kind: 'semantic', upstream: 'store' } },
    log: { level: 'silent' },
  }
}

function gatewayConfig(folder: string, ports: Ports): object {
  return {
    listen: { port: ports.gateway },
    admin: { port: ports.admin },
    data_dir: join(folder, 'gateway'),
    log: { level: 'silent' },
    auth: { keys: keys(), jwt: [issuerConfig(ports)] },
    roles: { agent: {}, blue: {}, green: {}, reader: { access: 'read' } },
    ...upstreamsConfig(folder, ports),
    quotas: quotasConfig(ports),
    usage: {
      sinks: { billing: { cloudevents: url(ports.receiver) }, files: { jsonl: 'usage.jsonl' } },
    },
    audit: {},
    signing: { lifetime: '15s', rotate: '45s' },
    versions: {
      'a2m/0.1': { default: true },
      'a2m/0.0': { deprecated: day(-30), sunset: day(45) },
    },
  }
}

function day(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
}

/** Its keys are read more often than anybody needs, so that there is something to see. */
function issuerConfig(ports: Ports): object {
  return {
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks_uri: `${url(ports.receiver)}/jwks.json`,
    algorithms: ['EdDSA'],
    roles: ['agent', 'green'],
    cache: '5s',
  }
}

function keys(): object[] {
  return Object.entries(AGENTS).map(([name, { owner, roles }]) => ({
    ...{ name, owner, roles },
    sha256: sha256(keyOf(name as Agent)),
  }))
}

function upstreamsConfig(folder: string, ports: Ports): object {
  const stdio = ['store', '--path', join(folder, 'notes.db'), '--stdio', '--tiers', 'working']
  const brief = { timeout: '2s', breaker: { failures: 5, reset: '2s' }, refresh: '5s' }
  return {
    upstreams: {
      notes: { command: [process.execPath, MAIN, ...stdio], ...brief },
      episodes: { url: url(ports.episodes), auth: { bearer: STORE_TOKEN }, ...brief },
      facts: { url: url(ports.facts), owner: 'token', ...brief },
    },
    tiers: {
      working: { kind: 'working', upstream: 'notes', capacity: 60, spill_to: 'episodic' },
      episodic: { kind: 'episodic', upstream: 'episodes', promote_to: 'semantic' },
      semantic: { kind: 'semantic', upstream: 'facts' },
    },
  }
}

function quotasConfig(ports: Ports): object {
  return {
    redis: `redis://127.0.0.1:${ports.redis}`,
    redis_timeout: '1s',
    on_failure: 'local',
    gateways: 1,
    webhook: { url: url(ports.receiver) },
    limits: {
      'calls-a-caller': { of: 'calls', per: 'caller', window: '10s', limit: 120, soft: 0.8 },
      'records-of-imports': {
        ...{ of: 'records', per: 'caller', window: '10s', limit: 300, soft: 0.5 },
        callers: ['importer'],
      },
      'calls-of-a-team': {
        of: 'calls',
        per: 'role',
        window: '10s',
        limit: 220,
        roles: ['blue'],
        shadow: true,
      },
      'stock-of-an-owner': { of: 'stock', per: 'owner', limit: 5000, soft: 0.2 },
    },
  }
}
