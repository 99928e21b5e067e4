import type { Config, ModelConfig } from '../config/config.js'
import { createModelSummarizer } from '../digest/model-summary.js'
import type { Engines } from '../federation/digesting.js'
import type { ChatModel } from '../transport/chat-model.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'

/** The text models that the configuration names, each to be closed with the rest. Nothing is asked of them yet. */
export async function openEngines(
  { models, summarize }: Pick<Config, 'models' | 'summarize'>,
  deps: AppDeps,
  closers: Closers,
): Promise<Engines> {
  const prompt = models.prompt && (await open(models.prompt, deps, closers))
  if (summarize !== 'model' || models.summarize === undefined) {
    return { promptModel: prompt, summarizer: summarize === 'off' ? 'off' : undefined }
  }
  const writer = await open(models.summarize, deps, closers)
  return { promptModel: prompt, summarizer: createModelSummarizer(writer) }
}

/** The HTTP client is loaded only where there is a model. */
async function open(config: ModelConfig, { clock }: AppDeps, closers: Closers): Promise<ChatModel> {
  const { createChatModel } = await import('../transport/chat-model.js')
  const model = createChatModel({ ...config, url: new URL(config.url), clock })
  closers.add(() => model.close())
  return model
}
