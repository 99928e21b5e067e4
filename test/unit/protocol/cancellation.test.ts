import { expect, test } from 'vitest'
import { Cancellation } from '../../../src/protocol/cancellation.js'

test('every listener is told once', () => {
  const cancellation = new Cancellation()
  const told: string[] = []
  cancellation.subscribe(() => told.push('a'))
  cancellation.subscribe(() => told.push('b'))
  expect(cancellation.cancelled).toBe(false)
  cancellation.cancel()
  cancellation.cancel()
  expect(cancellation.cancelled).toBe(true)
  expect(told).toEqual(['a', 'b'])
})

test('one that comes late is told at once', () => {
  const cancellation = new Cancellation()
  cancellation.cancel()
  let told = 0
  const undo = cancellation.subscribe(() => told++)
  undo()
  expect(told).toBe(1)
})

test('one that is undone is not told, even by another listener', () => {
  const cancellation = new Cancellation()
  const told: string[] = []
  let undoLast = (): void => {}
  const undoFirst = cancellation.subscribe(() => told.push('first'))
  cancellation.subscribe(() => undoLast())
  undoLast = cancellation.subscribe(() => told.push('last'))
  undoFirst()
  undoFirst()
  cancellation.cancel()
  expect(told).toEqual([])
})

test('a listener may cancel and subscribe again', () => {
  const cancellation = new Cancellation()
  const told: string[] = []
  cancellation.subscribe(() => {
    cancellation.cancel()
    cancellation.subscribe(() => told.push('inner'))
    told.push('outer')
  })
  cancellation.cancel()
  expect(told).toEqual(['inner', 'outer'])
})
