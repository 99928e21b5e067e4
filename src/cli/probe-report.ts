import type { ProbeReport } from '../probe/report.js'
import type { Colours } from './terminal.js'

/** What `check --probe` prints: one line for each thing that is untrue, was not tried, or is left behind. */
export function printProbe(report: ProbeReport, { red, yellow, green, bold }: Colours): string[] {
  const { upstream, capabilities, tried, untrue, untried, left, stopped } = report
  return [
    `${bold(upstream)} declares ${capabilities.join(', ')}; claims tried: ${tried}`,
    ...untried.map(({ capability, reason }) => `${yellow('not tried:')} ${capability}: ${reason}`),
    ...untrue.map(
      ({ capability, claim, expected, came }) =>
        `${red('untrue:')} ${capability}: ${claim}: expected ${expected}, came ${came}`,
    ),
    ...(left === undefined
      ? []
      : [`${red('left behind:')} ${left.ids.join(', ')}: ${left.reason}`]),
    ...(stopped ? [`${yellow('stopped:')} it was not through`] : []),
    ...(isWell(report) ? [green('All of it is true.')] : []),
  ]
}

/** The same for programs. */
export function probeJson(report: ProbeReport): string {
  return JSON.stringify({ ok: isWell(report), ...report }, undefined, 2)
}

/** Nothing that was tried is untrue, all was tried, and nothing is left. */
export function isWell({ untrue, left, stopped }: ProbeReport): boolean {
  return untrue.length === 0 && left === undefined && !stopped
}

/** What is wrong, in one line. */
export function verdict({ untrue, left, stopped }: ProbeReport): string {
  const parts = [
    ...(untrue.length === 0
      ? []
      : [untrue.length === 1 ? 'one thing is untrue' : `${untrue.length} things are untrue`]),
    ...(left === undefined ? [] : [`${left.ids.length} records could not be removed`]),
    ...(stopped ? ['the probe was stopped'] : []),
  ]
  return parts.join('; ')
}
