import { describe, expect, test } from 'vitest'
import { emptyFolder, Program, run } from '../support/gateway-process.js'
import { configIn, type Gateway, startGateway } from '../support/gateway-under-test.js'
import { until } from '../support/waiting.js'

async function used(): Promise<{ gateway: Gateway; cwd: string }> {
  const cwd = emptyFolder()
  const gateway = await startGateway({}, { cwd })
  await gateway.remember({ content: 'hello', tier: 'semantic' })
  await gateway.call('memory/recall', { query: 'hello' })
  return { gateway, cwd }
}

const at = (gateway: Gateway, path: string, headers = {}) =>
  fetch(new URL(path, gateway.admin), { headers })

describe('/usage', () => {
  test('answers in JSON and in CSV, as asked or as accepted', async () => {
    const { gateway } = await used()
    const json = await at(gateway, '/usage?by=method')
    expect(json.headers.get('content-type')).toMatch('application/json')
    expect(await json.json()).toMatchObject({
      by: ['method'],
      lines: [{ method: 'memory/recall' }, { method: 'memory/remember', records_in: 1 }],
      totals: { calls: 2, characters_in: 5, characters_out: 5 },
      more: false,
    })
    const accepted = await at(gateway, '/usage?by=method', { accept: 'text/csv' })
    const asked = await at(gateway, '/usage?by=method&format=csv')
    expect(accepted.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const text = await asked.text()
    expect(await accepted.text()).toBe(text)
    expect(text.split('\r\n')).toMatchObject([
      expect.stringMatching(/^method,calls,records_in/),
      expect.stringMatching(/^memory\/recall,1,0,1/),
      expect.stringMatching(/^memory\/remember,1,1,0/),
      '',
    ])
  })

  test.each([
    ['/usage?by=nothing', 'is none of caller, owner'],
    ['/usage?form=csv', '"form" is unknown'],
    ['/usage?format=xml', 'format: must be json or csv'],
    ['/usage?from=2026-02-30', 'from: must be a time such as'],
    ['/usage/stock?by=owner', '"by" is unknown'],
    ['/usage?limit=0', 'limit: must be a whole number from 1'],
  ])('%s is answered with what to write instead', async (path, reason) => {
    const { gateway } = await used()
    const response = await at(gateway, path)
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.stringContaining(reason) },
    ])
  })

  test('is not on the callers’ listener', async () => {
    const { gateway } = await used()
    expect((await fetch(new URL('/usage', gateway.url))).status).toBe(404)
  })
})

describe('a2m-gateway usage', () => {
  test('asks a running gateway, and reads the ledger of one that is not', async () => {
    const { gateway, cwd } = await used()
    const running = await run(['usage', '--url', gateway.admin, '--by', 'tier', '--json'])
    await gateway.stop()
    const stopped = await run(['usage', '--config', 'gateway.yaml', '--by', 'tier', '--json'], {
      cwd,
    })
    expect(JSON.parse(running.stdout)).toMatchObject({ lines: [{ tier: 'semantic', calls: 2 }] })
    expect(JSON.parse(stopped.stdout).lines).toEqual(JSON.parse(running.stdout).lines)
    const table = await run(['usage', '--config', 'gateway.yaml'], { cwd })
    expect(table.stdout).toMatch(/^anonymous +2 +1 +1 /m)
    const csv = await run(
      ['usage', '--config', 'gateway.yaml', '--csv', '--method', 'memory/recall'],
      { cwd },
    )
    expect(csv.stdout.split('\r\n')[1]).toMatch(/^anonymous,1,/)
  })

  test('says of a killed gateway that some of its usage waits', async () => {
    const cwd = emptyFolder()
    const usage = { spool: { interval: '1h' } }
    const gateway = await startGateway({ usage }, { cwd })
    await until(async () => (await at(gateway, '/usage')).ok)
    await gateway.call('memory/recall')
    await gateway.kill()
    const { stderr, code } = await run(['usage', '--config', 'gateway.yaml'], { cwd })
    expect(code).toBe(0)
    expect(stderr).toMatch(/^\d+ bytes of usage wait in the spool/)
  })

  test('goes on telling with --watch until it is stopped', async () => {
    const { gateway } = await used()
    const watching = new Program(['usage', '--url', gateway.admin, '--watch', '0.05'])
    await until(() => (watching.stdout.match(/^total/gm)?.length ?? 0) >= 2)
    await gateway.call('memory/recall')
    await until(() => /^total +3 /m.test(watching.stdout))
    watching.child.kill('SIGTERM')
    expect((await watching.ended()).code).toBe(0)
  })

  test.each([
    [['--by', 'nothing'], 2, 'is none of caller'],
    [['--from', 'then'], 2, 'from: must be a time'],
    [['--url', 'localhost:1'], 2, 'must begin with http'],
    [['--url', 'http://127.0.0.1:1/'], 1, 'no answer from http://127.0.0.1:1'],
    [['--watch', 'often'], 2, 'A time is a number of seconds'],
  ])('%s ends with %d', async (args, code, reason) => {
    const cwd = emptyFolder()
    const gateway = await startGateway({}, { cwd })
    await gateway.call('memory/recall')
    await gateway.stop()
    const ended = await run(['usage', '--config', 'gateway.yaml', ...args], { cwd })
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(reason)])
  })

  test('where nothing was ever metered, it says so', async () => {
    const cwd = emptyFolder()
    const ended = await run(['usage', '--config', configIn(cwd, {})], { cwd })
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('there is no ledger')])
  })
})
