import { describe, expect, test } from 'vitest'
import type { Question, TextModel } from '../../../src/digest/text-model.js'
import { withPrompt } from '../../../src/digest/with-prompt.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { checkParams } from '../../../src/protocol/checks.js'
import { Fault } from '../../../src/protocol/errors.js'
import { contextWithin } from '../../support/contexts.js'
import { meets } from '../../support/meets.js'
import { createRecorder } from '../../support/recorder.js'
import { sampleRecord } from '../../support/sample-records.js'

const context = contextWithin(5000)
const RECORDS = [sampleRecord(2), sampleRecord(1)]

function setUp(answer?: string | Error) {
  const questions: Question[] = []
  const model: TextModel = {
    name: 'small',
    async complete(question) {
      questions.push(question)
      if (typeof answer !== 'string') throw answer
      return answer
    },
  }
  const recorder = createRecorder({
    records: RECORDS,
    federation: { partial: true, upstreams: {} },
  })
  const memory = withPrompt(recorder.memory, answer === undefined ? undefined : model)
  const recall = (prompt: unknown, more: object = {}) =>
    memory.call(
      'memory/recall',
      checkParams('memory/recall', { query: 'q', prompt, ...more }),
      context,
    )
  return { ...recorder, memory, recall, questions }
}

describe('prompt', () => {
  test.each([[undefined], [false], [null], [{ method: 'none' }], [{ method: 'none', budget: 0 }]])(
    '%j asks for nothing',
    async (prompt) => {
      const { recall, seen } = setUp()
      const result = await recall(prompt)
      expect(Object.keys(result)).toEqual(['records', 'federation'])
      expect(JSON.parse(JSON.stringify(seen[0]?.params))).toEqual({ query: 'q' })
    },
  )

  test.each([[true], [{}], [{ style: 'facts' }], [{ style: null, budget: null }], [{ colour: 1 }]])(
    `%j adds text, and leaves the rest as it is ${meets('4.16/additional')}`,
    async (prompt) => {
      const { recall, seen } = setUp()
      expect(await recall(prompt)).toEqual({
        records: RECORDS,
        federation: { partial: true, upstreams: {} },
        prompt: '- content 2\n- content 1',
        prompt_ids: ['id-2', 'id-1'],
      })
      expect(JSON.parse(JSON.stringify(seen[0]?.params))).toEqual({ query: 'q' })
    },
  )

  test.each([
    [{ method: 'magic' }],
    [{ method: 'model' }],
    [{ style: 'poem' }],
    [{ model: 'big' }],
    [{ method: 'none', style: 'poem' }],
    [{ budget: -1 }],
    [{ budget: 1.5 }],
    [{ budget: '10' }],
    [{ cite: 'yes' }],
    [{ method: 5 }],
    ['yes'],
    [[]],
    [1],
  ])(
    `%j is refused before anything is asked ${meets('4.16/unoffered', '4.16/no-substitute')}`,
    async (prompt) => {
      const { memory, seen } = setUp()
      const call = async () => {
        const params = checkParams('memory/timeline', { prompt })
        return memory.call('memory/timeline', params, context)
      }
      await expect(call()).rejects.toMatchObject({ code: -32602 })
      expect(seen).toEqual([])
    },
  )

  test('is told in describe', async () => {
    const styles = ['facts', 'transcript', 'auto']
    expect((await setUp().memory.call('memory/describe', {}, context)).prompt).toEqual({
      styles,
      methods: ['template', 'none'],
    })
    expect((await setUp('x').memory.call('memory/describe', {}, context)).prompt).toEqual({
      styles,
      methods: ['template', 'model', 'none'],
      model: 'small',
    })
  })
})

describe('a model', () => {
  test(`is asked only where it is asked for ${meets('4.16/template')}`, async () => {
    const { recall, questions } = setUp('text')
    for (const prompt of [true, {}, { method: 'template', model: 'small' }, { method: 'none' }]) {
      await recall(prompt)
    }
    expect(questions).toEqual([])
  })

  test('writes from what the budget has room for, within the call’s own limits', async () => {
    const { recall, questions } = setUp('  as told  ')
    const prompt = { method: 'model', model: 'small', style: 'facts', budget: 20 }
    expect(await recall(prompt)).toMatchObject({
      records: RECORDS,
      prompt: 'as told',
      prompt_ids: ['id-2'],
    })
    expect(questions).toMatchObject([{ text: '- content 2', deadline: context.deadline }])
    expect(questions[0]?.system).toContain('at most 20 characters')
  })

  test('is not asked where there is nothing to tell', async () => {
    const { recall, questions } = setUp('text')
    expect(await recall({ method: 'model', budget: 0 })).toMatchObject({
      prompt: '',
      prompt_ids: [],
    })
    expect(questions).toEqual([])
  })

  test.each<[string, string | Error, string]>([
    ['too much', 'x'.repeat(31), 'more than 30 characters'],
    ['nothing', ' \n', 'answered with nothing'],
    ['a fault', new Fault('timeout', 'no answer within the time limit'), 'within the time limit'],
  ])('that gives %s is named in the error', async (_, answer, message) => {
    const { recall } = setUp(answer)
    await expect(recall({ method: 'model', budget: 30 })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining(message),
      data: { model: 'small', outcome: 'not_sent' },
    })
  })

  test(`of another name is refused ${meets('4.16/unoffered', '4.16/no-substitute')}`, async () => {
    const { recall, seen } = setUp('text')
    const wrong = recall({ method: 'model', model: 'big' })
    await expect(wrong).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('small'),
    })
    expect(seen).toEqual([])
  })

  test('goes with the caller', async () => {
    const cancellation = new Cancellation()
    const { memory, questions } = setUp('text')
    const params = checkParams('memory/recall', { prompt: { method: 'model' } })
    await memory.call('memory/recall', params, { ...context, cancellation })
    expect(questions[0]?.cancellation).toBe(cancellation)
  })
})
