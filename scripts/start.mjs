/** `npm start`: the gateway on embedded stores in ./data; what follows `--` goes to `a2m-gateway serve`. */
import { bootstrap } from './bootstrap.mjs'

bootstrap()
process.argv.splice(2, 0, 'serve')
await import('../dist/cli/main.js')
