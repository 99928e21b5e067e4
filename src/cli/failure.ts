import { ListenError, type ListenerName } from '../app/listen-error.js'
import { ConfigError } from '../config/errors.js'

/** What a command ends with: 0 well, 1 something is wrong, 2 the configuration or the command line is. */
export type ExitCode = 0 | 1 | 2

/** The message of a failure that stdout has told of already. */
export const SAID = ''

/** A failure that people are told of in one line, without a stack. */
export class Failure extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

/** Turns whatever was thrown into what to print and how to end. Only a fault of the program itself shows its stack. */
export function explain(thrown: unknown): {
  readonly message: string
  readonly exitCode: ExitCode
} {
  if (thrown instanceof Failure) return thrown
  if (thrown instanceof ConfigError) return { message: thrown.message, exitCode: 2 }
  if (thrown instanceof ListenError) return explainListener(thrown)
  if (!(thrown instanceof Error)) return { message: String(thrown), exitCode: 1 }
  const known = ofSystem(thrown)
  if (known !== undefined) return { message: known, exitCode: 1 }
  const ownFault = thrown instanceof TypeError || thrown instanceof RangeError
  return { message: (ownFault && thrown.stack) || thrown.message, exitCode: 1 }
}

interface SystemError extends Error {
  readonly code?: string
  readonly syscall?: string
  readonly path?: string
  readonly address?: string
  readonly port?: number
}

type Sentences = Readonly<Record<string, (error: SystemError) => string | undefined>>

const SYSTEM: Sentences = {
  EACCES: noAccess,
  EPERM: noAccess,
  EROFS: noAccess,
  ENOENT: ({ syscall, path }) =>
    syscall === 'mkdir'
      ? `${path} cannot be made, since its file system takes no new folders; set another data_dir`
      : undefined,
  ENOTDIR: ({ path }) => `${path}: a part of this path is no folder`,
  EEXIST: ({ path }) => `${path} is a file where a folder is needed`,
  ENOSPC: () => 'the disk is full',
}

function noAccess({ path }: SystemError): string {
  return `${path} cannot be written; give this user the right to, or set another data_dir`
}

/** How people choose another port or address for a listener. */
const CHOOSING: Readonly<Record<ListenerName, { readonly port: string; readonly host: string }>> = {
  listen: {
    port: 'with --port or listen.port in the configuration',
    host: '--host or listen.host',
  },
  admin: { port: 'with admin.port in the configuration, or write admin: off', host: 'admin.host' },
  store: { port: 'with --http', host: '--host' },
}

function explainListener({ listener, cause, message }: ListenError) {
  const choosing = CHOOSING[listener]
  const sentences: Sentences = {
    EADDRINUSE: ({ address, port }) =>
      `${address}:${port} is in use; end what listens there, or choose another port ${choosing.port}`,
    EADDRNOTAVAIL: ({ address }) =>
      `${address} is no address of this machine; see ${choosing.host}`,
    EACCES: ({ port }) => `port ${port} needs more rights; choose one over 1023 ${choosing.port}`,
    ENOTFOUND: () => `no such host: ${message}; see ${choosing.host}`,
  }
  const error: SystemError | undefined = cause instanceof Error ? cause : undefined
  const known = error && sentences[error.code ?? '']?.(error)
  return { message: known ?? message, exitCode: 1 } as const
}

function ofSystem(error: SystemError): string | undefined {
  return SYSTEM[error.code ?? '']?.(error)
}
