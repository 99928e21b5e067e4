import { ownerContext } from './federation-contexts.js'
import { openMovingGateway, type Receiver } from './moving-gateway.js'

/**
 * Promotes everything of `alice` from hot to cold, or closes a session that is named, and kills its own process at the given step,
 * without a goodbye.
 */
const [folder = '', receiver = 'extended', killAt = '', occurrence = '1', session] =
  process.argv.slice(2)
let seen = 0
const gateway = await openMovingGateway(folder, receiver as Receiver, (name) => {
  if (name === killAt && ++seen === Number(occurrence)) process.kill(process.pid, 'SIGKILL')
})
const context = ownerContext('alice', { deadline: Number.POSITIVE_INFINITY })
if (session === undefined) {
  const { records } = await gateway.federation.call('memory/timeline', {}, context)
  const ids = records.map(({ id }) => id)
  await gateway.federation.call('memory/promote', { ids, tier: 'cold' }, context)
} else {
  await gateway.federation.call('memory/session/close', { session }, context)
}
await gateway.close()
