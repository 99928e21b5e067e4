import { METHODS } from './requirements/methods.js'
import { MODEL } from './requirements/model.js'
import { WIRE } from './requirements/wire.js'

/** Everything that A2M 0.1 requires (§2 to §8.3.3), by ids that begin with their section. */
export const REQUIREMENTS = Object.freeze({ ...MODEL, ...METHODS, ...WIRE })
export type RequirementId = keyof typeof REQUIREMENTS
