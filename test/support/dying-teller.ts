import { ACTS, type ActName, openTellingGateway } from './telling-gateway.js'

/** Makes one call, and kills its own process at the given step of it, without a goodbye. */
const [folder = '', act = '', killAt = ''] = process.argv.slice(2)
let armed = false
const gateway = await openTellingGateway(folder, (name) => {
  if (armed && name === killAt) process.kill(process.pid, 'SIGKILL')
})
armed = true
await ACTS[act as ActName](gateway)
await gateway.close()
