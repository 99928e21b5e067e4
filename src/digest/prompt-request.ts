import { invalidParams } from '../protocol/errors.js'
import type { Description, ParamsOf } from '../protocol/methods.js'
import type { TextModel } from './text-model.js'

export const STYLES = ['facts', 'transcript', 'auto'] as const
export type Style = (typeof STYLES)[number]

const METHODS = ['template', 'model', 'none'] as const
type PromptMethod = (typeof METHODS)[number]

/** A `prompt` parameter that can be honoured, its defaults filled in. */
export interface PromptRequest {
  readonly method: PromptMethod
  readonly style: Style
  /** In code points; undefined is unbounded. */
  readonly budget: number | undefined
  readonly cite: boolean
}

type Param = NonNullable<ParamsOf<'memory/recall'>['prompt']>

/**
 * Reads the parameter; undefined where nothing is asked for. A method, style or model that is not offered is refused: another one
 * in its place would be text that nobody asked for (§4.16).
 */
export function promptRequest(
  param: Param | undefined,
  model: TextModel | undefined,
): PromptRequest | undefined {
  if (param === undefined || param === false) return undefined
  const asked = param === true ? {} : param
  const offered = methodsWith(model)
  const method = oneOf(asked.method ?? 'template', offered, 'prompt.method')
  const style = oneOf(asked.style ?? 'auto', STYLES, 'prompt.style')
  if (asked.model !== undefined) {
    oneOf(asked.model, model === undefined ? [] : [model.name], 'prompt.model')
  }
  return { method, style, budget: asked.budget, cite: asked.cite ?? false }
}

/** What describe tells of it. */
export function promptOffer(model: TextModel | undefined): NonNullable<Description['prompt']> {
  const methods = [...methodsWith(model)]
  return { styles: [...STYLES], methods, ...(model === undefined ? {} : { model: model.name }) }
}

function methodsWith(model: TextModel | undefined): readonly PromptMethod[] {
  return model === undefined ? METHODS.filter((method) => method !== 'model') : METHODS
}

function oneOf<T extends string>(value: string, offered: readonly T[], path: string): T {
  const found = offered.find((one) => one === value)
  if (found !== undefined) return found
  const choice = offered.length === 0 ? 'none is offered' : `offered: ${offered.join(', ')}`
  throw invalidParams(
    `${path}: ${JSON.stringify(value.slice(0, 80))} is not offered here; ${choice}`,
  )
}
