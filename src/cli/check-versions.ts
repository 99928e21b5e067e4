import type { VersionReport } from '../app/overview.js'
import { DEFAULT_FEDERATION } from '../config/versions.js'
import { heading } from './heading.js'
import { type Cell, table } from './table.js'
import type { Colours } from './terminal.js'

/** Which versions are spoken and what serves each; nothing where there is one that the configuration says nothing of. */
export function versionLines(
  versions: readonly VersionReport[],
  colours: Colours,
): readonly string[] {
  const [first, ...others] = versions
  if (first === undefined || (others.length === 0 && isPlain(first))) return []
  return [...table([HEADING(colours), ...versions.map((one) => row(one, colours))]), '']
}

const HEADING = (colours: Colours): Cell[] =>
  heading(['version', 'is served by', 'without the header', 'deprecated', 'sunset'], colours)

function isPlain({ servedBy, deprecated, sunset }: VersionReport): boolean {
  const own = 'federation' in servedBy && servedBy.federation === DEFAULT_FEDERATION
  return own && deprecated === undefined && sunset === undefined
}

function row(version: VersionReport, { green }: Colours): Cell[] {
  const { name, servedBy, deprecated, sunset } = version
  return [
    name,
    'federation' in servedBy ? `federation ${servedBy.federation}` : `${servedBy.origin}, as it is`,
    version.default ? { text: 'yes', paint: green } : '-',
    day(deprecated),
    day(sunset),
  ]
}

function day(instant: number | undefined): string {
  return instant === undefined ? '-' : new Date(instant).toISOString().slice(0, 10)
}
