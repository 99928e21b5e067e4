/**
 * A copy of an object with some fields set. It is what a spread with names after it makes, for the paths that every call
 * takes: V8 adds a name that is new to a spread object at ten times the price (1.3 µs a copy). Where all the names are there already, a
 * spread is the cheaper one.
 */
export function copyWith<T extends object, F extends object>(object: T, fields: F): T & F {
  return Object.assign({}, object, fields)
}
