import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from './page.js'
import { withPalette } from './png.js'
import { find } from './processes.js'

/** Takes a picture of a page with Chromium. Returns its size in bytes. */
export function photograph({ html, width, height }: Page, picture: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'a2m-page-'))
  try {
    const page = join(folder, 'page.html')
    writeFileSync(page, html)
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars']
    const size = [`--window-size=${width},${height}`, '--force-device-scale-factor=1']
    const own = [`--user-data-dir=${join(folder, 'profile')}`, `--screenshot=${picture}`]
    const { status, stderr } = spawnSync(
      find('chromium'),
      [...flags, ...size, ...own, `file://${page}`],
      { encoding: 'utf8', timeout: 60_000 },
    )
    if (status !== 0) throw new Error(`chromium ended with ${status}: ${stderr}`)
    const smaller = withPalette(readFileSync(picture))
    writeFileSync(picture, smaller)
    return smaller.length
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}
