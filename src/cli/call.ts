import { text as readAll } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { CODES } from '../protocol/errors.js'
import { isMethod, METHOD_NAMES } from '../protocol/methods.js'
import { PROTOCOL } from '../protocol/versions.js'
import { type CertificateFiles, secureContextOf } from './certificates.js'
import { Failure } from './failure.js'
import { pretty } from './pretty.js'
import { type Reply, request } from './request.js'
import { coloursFor, say, type Terminal } from './terminal.js'
import { headerValue, seconds } from './values.js'

interface CallOptions extends CertificateFiles {
  readonly url?: string
  readonly token?: string
  readonly protocol: string
  readonly timeout: number
  readonly json?: true
}

const DEFAULT_URL = 'http://127.0.0.1:8787/'

const EXAMPLES = `
Methods may be written without memory/. Params are one JSON object; "-" reads it from stdin.

Examples:
  $ a2m-gateway call describe
  $ a2m-gateway call remember '{"records":[{"content":"the deploy key rotates every 90 days"}]}'
  $ a2m-gateway call recall '{"query":"deploy key","limit":3}' --json | jq -r '.records[].content'
  $ A2M_URL=https://memory.example/ A2M_TOKEN=... a2m-gateway call timeline '{"limit":10}'
  $ a2m-gateway call describe --url https://memory.example:8443/ --cert me.pem --key me.key --ca ca.pem
  $ a2m-gateway call describe --protocol a2m/0.2

Exit codes: 0 a result, 1 an error or no answer, 2 the command line is wrong.
`

/** `call`: one call of a running server, its result on stdout. */
export function addCall(program: Command, terminal: Terminal): void {
  program
    .command('call')
    .description('make one call to a running gateway or store')
    .argument('<method>', 'such as memory/recall, or recall')
    .argument('[params]', 'a JSON object', '{}')
    .option('--url <url>', `the server; $A2M_URL, or ${DEFAULT_URL}, without it`)
    .option(
      '--token <token>',
      'a key or token; $A2M_TOKEN without it, which other users cannot see',
    )
    .option('--cert <file>', 'PEM: the certificate to show, with --key')
    .option('--key <file>', 'PEM: its private key')
    .option('--ca <file>', 'PEM: the authority of the server, where it is a private one')
    .addOption(
      new Option('--protocol <version>', 'the version to ask for, as the header names it')
        .argParser(headerValue)
        .default(PROTOCOL),
    )
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait')
        .argParser(seconds)
        .default(30_000, '30'),
    )
    .option('--json', 'print the result as it came, on one line')
    .addHelpText('after', EXAMPLES)
    .action((method: string, params: string, options: CallOptions) =>
      call({ method: methodOf(method), params, options }, terminal),
    )
}

interface Asked {
  readonly method: string
  readonly params: string
  readonly options: CallOptions
}

async function call({ method, params, options }: Asked, terminal: Terminal): Promise<void> {
  const { env, cwd, stdin, stdout } = terminal
  const written = params === '-' ? await readAll(stdin) : params
  const url = urlOf(options.url ?? (env['A2M_URL'] || DEFAULT_URL))
  const reply = await request({
    url,
    token: options.token ?? (env['A2M_TOKEN'] || undefined),
    secure: await secureContextOf(options, { url, cwd }),
    protocol: options.protocol,
    method,
    params: checked(written),
    timeout: options.timeout,
  })
  const result = resultOf(reply)
  say(stdout, options.json ? result : pretty(result, coloursFor(stdout, env)))
}

function methodOf(written: string): string {
  const method = written.includes('/') && isMethod(written) ? written : `memory/${written}`
  if (isMethod(method)) return method
  throw new Failure(2, `no method ${written} in A2M; there are ${METHOD_NAMES.join(', ')}`)
}

function urlOf(written: string): URL {
  const url = URL.canParse(written) ? new URL(written) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Failure(2, 'the URL must begin with http:// or https://')
  }
  if (url.username !== '' || url.password !== '') {
    throw new Failure(2, 'the URL must not carry a user or password; use --token or $A2M_TOKEN')
  }
  return url
}

/** The params as they were written, once it is clear that they are an object. */
function checked(written: string): string {
  let value: unknown
  try {
    value = JSON.parse(written)
  } catch (thrown) {
    throw new Failure(
      2,
      `the params are not JSON: ${thrown instanceof Error ? thrown.message : ''}`,
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Failure(2, 'the params must be a JSON object, such as {"limit":3}')
  }
  return written
}

function resultOf(reply: Reply): string {
  if ('result' in reply) return reply.result
  const { code, message, data } = reply.error
  const name = Object.entries(CODES).find(([, value]) => value === code)?.[0] ?? 'error'
  const detail = data === undefined ? '' : ` ${JSON.stringify(data)}`
  throw new Failure(1, `${code} ${name}: ${message}${detail}`)
}
