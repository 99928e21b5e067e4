import { expect, test } from 'vitest'
import { childEnvironment } from '../../../src/transport/stdio.js'

test('basics are handed on, secrets are not, names given win', () => {
  const base = {
    PATH: '/bin',
    HOME: '/home/a',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    TMPDIR: '/tmp',
    LC_ALL: undefined,
    VECTORS_TOKEN: 'canary',
    NODE_OPTIONS: '--require canary',
    LD_PRELOAD: 'canary',
    SSH_AUTH_SOCK: 'canary',
    HTTPS_PROXY: 'http://user:canary@proxy',
  }
  expect(childEnvironment(base, { PATH: '/opt/bin', FACTS_KEY: 'k' })).toEqual({
    PATH: '/opt/bin',
    HOME: '/home/a',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    TMPDIR: '/tmp',
    FACTS_KEY: 'k',
  })
})
