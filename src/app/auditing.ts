import { dirname } from 'node:path'
import type { Registry } from 'prom-client'
import type { Config } from '../config/config.js'
import { messageOf } from '../protocol/errors.js'
import { AuditLog } from '../telemetry/audit-log.js'
import { createAuditMetrics } from '../telemetry/audit-metrics.js'
import { createStrangers } from '../telemetry/audit-strangers.js'
import type { Observer } from '../telemetry/report.js'
import { RotatingFile, type Rotation } from '../telemetry/rotating-file.js'
import type { AuditOptions } from '../telemetry/with-audit.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { makeFolder } from './folder.js'

/** The audit log of one gateway. */
export interface Auditing {
  /** What each federation is wrapped with. */
  readonly calls: AuditOptions
  /** Told of requests that never become a call. */
  readonly strangers: Observer
}

export interface AuditingParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly metricRegistry: Registry
  readonly closers: Closers
}

/** Opens the log that the configuration asks for. Throws one Error that names the file where it cannot be written. */
export async function openAuditing(parts: AuditingParts): Promise<Auditing | undefined> {
  const { config, deps, metricRegistry, closers } = parts
  const { audit: wanted, auth } = config
  if (wanted === undefined || deps.purpose === 'look') return undefined
  const { clock, log } = deps
  const { now } = clock
  const file = await openFile({ ...wanted, now })
  const metrics = createAuditMetrics(metricRegistry)
  const audit = new AuditLog({ file, log, clock, metrics, schedule })
  const strangers = createStrangers({ audit, now, schedule })
  closers.add(() => {
    strangers.flush()
    return audit.close()
  })
  const { onFailure } = wanted
  return { calls: { audit, mismatch: auth?.ownerMismatch ?? 'deny', onFailure }, strangers }
}

async function openFile(rotation: Rotation): Promise<RotatingFile> {
  const { path } = rotation
  try {
    await makeFolder(dirname(path))
    return await RotatingFile.open(rotation)
  } catch (thrown) {
    const reason = messageOf(thrown)
    const problem = `audit.path: the audit log ${path} cannot be written (${reason})`
    throw new Error(`${problem}; name another file, or leave the section audit out`)
  }
}

/** Keeps no process alive. */
function schedule(run: () => void, delay: number): void {
  setTimeout(run, delay).unref()
}
