import type { Terminal } from './terminal.js'

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/** SIGHUP is how a service is told to read its configuration again. */
export function reloadOnSignal(process: NodeJS.Process): Terminal['onReload'] {
  return (reload) => {
    process.on('SIGHUP', reload)
  }
}

/** The first signal to end asks politely; a second one ends the process at once, with the code of that signal. */
export function stopOnSignals(process: NodeJS.Process): Terminal['onStop'] {
  return (stop) => {
    let asked = false
    for (const [signal, code] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        if (asked) process.exit(code)
        asked = true
        stop(signal)
      })
    }
  }
}
