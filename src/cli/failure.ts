import { ConfigError } from '../config/errors.js'

/** What a command ends with: 0 well, 1 something is wrong, 2 the configuration or the command line is. */
export type ExitCode = 0 | 1 | 2

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
  if (!(thrown instanceof Error)) return { message: String(thrown), exitCode: 1 }
  const known = ofSystem(thrown)
  if (known !== undefined) return { message: known, exitCode: 1 }
  const ownFault = thrown instanceof TypeError || thrown instanceof RangeError
  return { message: (ownFault && thrown.stack) || thrown.message, exitCode: 1 }
}

interface SystemError extends Error {
  readonly code?: string
  readonly path?: string
  readonly address?: string
  readonly port?: number
}

const SYSTEM: Readonly<Record<string, (error: SystemError) => string>> = {
  EADDRINUSE: ({ address, port }) =>
    `${address}:${port} is in use; end what listens there, or choose another port with --port or in the configuration`,
  EADDRNOTAVAIL: ({ address }) => `${address} is no address of this machine; see listen.host`,
  EACCES: (error) =>
    error.port === undefined
      ? noAccess(error)
      : `port ${error.port} needs more rights; choose one over 1023`,
  EPERM: noAccess,
  EROFS: noAccess,
  ENOTDIR: ({ path }) => `${path}: a part of this path is no folder`,
  EEXIST: ({ path }) => `${path} is a file where a folder is needed`,
  ENOSPC: () => 'the disk is full',
  ENOTFOUND: ({ message }) => `no such host: ${message}`,
}

function noAccess({ path }: SystemError): string {
  return `${path} cannot be written; give this user the right to, or set another data_dir`
}

function ofSystem(error: SystemError): string | undefined {
  return SYSTEM[error.code ?? '']?.(error)
}
