import { expect, onTestFinished, test } from 'vitest'
import { startBadUpstream } from '../support/bad-upstream.js'
import { saying, startChatServer } from '../support/chat-server.js'
import { startGateway } from '../support/gateway-under-test.js'

const SECRET = 'sk-0123456789-of-the-model'
const FACTS = [
  'The deploy key rotates every ninety days.',
  'The vault of Berlin holds the deploy key.',
]
const tier = 'episodic'

const modelsAt = (url: string) => {
  const model = { url, model: 'small', auth: { bearer: `\${MODEL_KEY}` }, timeout: '2s' }
  return { models: { prompt: model, summarize: { ...model, model: 'big' } } }
}
const env = { MODEL_KEY: SECRET }

async function setUp(url: string, config: object = {}) {
  const gateway = await startGateway(
    { ...modelsAt(url), ...config, log: { level: 'debug' } },
    { env },
  )
  for (const content of FACTS) await gateway.remember({ content, tier })
  return gateway
}

test('a model writes prompts where it is asked to, and summaries', async () => {
  const chat = await startChatServer(saying('The key is in Berlin.'))
  const gateway = await setUp(chat.url)
  const described = await gateway.call('memory/describe')
  expect(described).toMatchObject({
    summarize: { model: 'big' },
    prompt: { methods: ['template', 'model', 'none'], model: 'small' },
  })
  await gateway.call('memory/recall', { query: 'key', prompt: true })
  expect(chat.asked).toEqual([])
  const prompt = { method: 'model', budget: 100 }
  const told = await gateway.call('memory/recall', { query: 'key', prompt })
  expect(told).toMatchObject({ prompt: 'The key is in Berlin.' })
  expect(told.prompt_ids).toHaveLength(2)
  expect(chat.asked).toMatchObject([
    { authorization: `Bearer ${SECRET}`, body: { model: 'small' } },
  ])
  const summary = await gateway.call('memory/summarize', { tier, into: 'semantic' })
  expect(summary).toMatchObject({
    read: 2,
    written: 1,
    records: [{ content: 'The key is in Berlin.', tier: 'semantic', role: 'memory' }],
  })
  expect(summary.records[0]?.metadata?.value()).toMatchObject({
    a2m_summary: { of: told.prompt_ids?.toSorted(), read: 2, method: 'big' },
  })
  expect(chat.asked[1]?.body.model).toBe('big')
})

test.each(['failing', 'html', 'huge', 'redirect', 'silent', 'refused'] as const)(
  'a model that is %s is named in a clear error, and everything else goes on',
  async (kind) => {
    const endpoint = await startBadUpstream(kind)
    onTestFinished(() => endpoint.close())
    const gateway = await setUp(endpoint.url.href)
    const asked = gateway.call('memory/recall', { query: 'key', prompt: { method: 'model' } })
    const error = {
      code: -32603,
      message: expect.stringContaining('the model small gave no usable'),
    }
    await expect(asked).rejects.toMatchObject({ ...error, data: { model: 'small' } })
    const summary = gateway.call('memory/summarize', { tier })
    await expect(summary).rejects.toMatchObject({ code: -32603, data: { model: 'big' } })
    expect(await gateway.contentsOf()).toEqual(FACTS)
    const rendered = await gateway.call('memory/timeline', { prompt: { style: 'facts' } })
    expect(rendered.prompt).toBe(FACTS.map((fact) => `- ${fact}`).join('\n'))
    expect(gateway.program.stderr).not.toContain(SECRET)
  },
)

test('without a model sentences are extracted, and none where summaries are off', async () => {
  const gateway = await setUp('http://127.0.0.1:1/v1', { models: {} })
  expect(await gateway.call('memory/describe')).toMatchObject({ summarize: { model: null } })
  const { records } = await gateway.call('memory/summarize', { tier })
  expect(records[0]?.content).toBe(FACTS.join('\n'))
  const off = await setUp('http://127.0.0.1:1/v1', { models: {}, summarize: 'off' })
  expect((await off.call('memory/describe')).capabilities).not.toContain('summarize')
  await expect(off.call('memory/summarize', { tier })).rejects.toMatchObject({ code: -32003 })
})
