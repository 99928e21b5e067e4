import { expect, test } from 'vitest'
import { Closers } from '../../../src/app/closers.js'

test('closes in reverse, each after the one before has closed', async () => {
  const order: string[] = []
  const closers = new Closers()
  closers.add(() => order.push('first'))
  closers.add(async () => {
    await Promise.resolve()
    order.push('second')
  })
  closers.add(() => order.push('third'))
  await closers.close()
  expect(order).toEqual(['third', 'second', 'first'])
})

test('one that fails holds up none of the others, and is told of', async () => {
  const order: string[] = []
  const closers = new Closers()
  closers.add(() => order.push('first'))
  closers.add(() => Promise.reject(new Error('stuck')))
  closers.add(() => {
    throw new Error('broken')
  })
  await expect(closers.close()).rejects.toThrow('broken')
  expect(order).toEqual(['first'])
})

test('closing again closes nothing twice', async () => {
  let times = 0
  const closers = new Closers()
  closers.add(() => times++)
  await closers.close()
  await closers.close()
  expect(times).toBe(1)
})
