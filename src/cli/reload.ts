import type { App } from '../app/gateway.js'
import { messageOf } from '../protocol/errors.js'
import type { Log } from '../telemetry/logs.js'
import { type ConfigOptions, readConfig } from './config-file.js'
import type { Terminal } from './terminal.js'

interface Surroundings {
  readonly terminal: Terminal
  readonly log: Log
}

/** Reads the configuration again whenever the process is asked to, once after the other. One that cannot be used changes nothing. */
export function reloadWhenAsked(
  app: App,
  options: ConfigOptions,
  { terminal, log }: Surroundings,
): void {
  let last = Promise.resolve()
  terminal.onReload(() => {
    last = last.then(() => reload())
  })

  async function reload(): Promise<void> {
    try {
      tell(await app.reload(await readConfig(options, terminal)), log)
    } catch (thrown) {
      const reason = messageOf(thrown)
      log.error({ reason }, 'not reloaded: what was read before still counts')
    }
  }
}

function tell(restart: readonly string[], log: Log): void {
  log.info({}, 'reloaded')
  if (restart.length === 0) return
  log.warn({ restart }, 'other changes of the configuration count only after a restart')
}
