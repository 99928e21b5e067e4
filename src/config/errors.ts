/** Where in the file a value stands: names of keys and positions in lists. */
export type Path = readonly (string | number)[]

/** A configuration that cannot be used. The message is one line, names the path and never holds a value of the environment. */
export class ConfigError extends Error {
  readonly path: Path
  readonly problem: string

  /** `file` is the name of the file that the fault is in, where it is known. */
  constructor(path: Path, problem: string, file?: string) {
    super([file, printPath(path), problem].filter((part) => part).join(': '))
    this.name = 'ConfigError'
    this.path = path
    this.problem = problem
  }
}

/** As people write it: `auth.keys[0].sha256`. */
function printPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${quoted(step)}`))
    .join('')
    .replace(/^\./, '')
}

function quoted(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name)
}
