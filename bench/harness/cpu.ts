import { readdirSync, readFileSync } from 'node:fs'

/** Processor time that a process has used in all its threads so far, in µs; NaN where the system does not tell. */
export function cpuMicros(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.reduce((sum, thread) => sum + threadMicros(pid, thread), 0)
  } catch {
    return Number.NaN
  }
}

/** The first number of schedstat is time on a processor, in ns. */
function threadMicros(pid: number, thread: string): number {
  const [spent = ''] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
  return Number(spent) / 1000
}
