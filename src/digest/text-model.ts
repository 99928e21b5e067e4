import type { Cancellation } from '../protocol/cancellation.js'
import { A2mError, Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import { codePoints } from '../text/points.js'

/** What a text model is told: who it is, what to work on, and how long anybody waits (`deadline` in ms of the monotonic clock). */
export interface Question {
  readonly system: string
  readonly text: string
  readonly deadline: number
  readonly cancellation: Cancellation
}

/** Something that writes text. Rejects with a `Fault`, whose message holds no secret; never outlasts the deadline. */
export interface TextModel {
  /** What describe calls it, and callers who ask for it. */
  readonly name: string
  complete(question: Question): Promise<string>
}

/** The most characters that a model is given of one call's records; whole records beyond it are left out. */
export const MODEL_INPUT = 200_000

export interface Assignment {
  readonly system: string
  readonly text: string
  /** In code points; a longer answer is an error, since it cannot be cut. */
  readonly longest: number
}

/** Asks a model within the call's own limits. Throws an `A2mError` that names the model where it gives nothing usable. */
export async function askModel(
  model: TextModel,
  { system, text, longest }: Assignment,
  { deadline, cancellation }: Context,
): Promise<string> {
  const answer = await complete(model, { system, text, deadline, cancellation })
  if (answer === '') throw failed(model, 'it answered with nothing', 'bad_reply')
  if (codePoints(answer) > longest) {
    throw failed(model, `it answered with more than ${longest} characters`, 'too_large')
  }
  return answer
}

async function complete(model: TextModel, question: Question): Promise<string> {
  try {
    return (await model.complete(question)).trim()
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'cancelled') throw thrown
    throw failed(model, thrown.message, thrown.kind)
  }
}

/** Nothing has been changed by then, whatever the model did. */
function failed({ name }: TextModel, message: string, fault: Fault['kind']): A2mError {
  return new A2mError('INTERNAL_ERROR', `the model ${name} gave no usable text: ${message}`, {
    model: name,
    fault,
    outcome: 'not_sent',
  })
}
