import { CODES } from '../protocol/errors.js'
import { type Lab, ownerParam } from './lab.js'
import type { Claim } from './report.js'

/** That conversations can be replayed, listed and closed, and are there afterwards (§3.5, §4.10, §4.11). */
export async function probeSessions(lab: Lab, claim: Claim): Promise<void> {
  const step = 'sessions'
  const owned = ownerParam(lab.owner)
  const [session, silent] = [lab.name('session'), lab.name('session')]
  const ids = await lab.writeApart(
    step,
    ['one', 'two'].map((content) => ({ content, session })),
  )
  await lab.write(step, [{ content: 'elsewhere', session: silent }, { content: 'nowhere' }])
  const replay = async () => {
    const params = { where: { session }, limit: lab.limit(20), ...owned }
    return (await lab.call('memory/timeline', params)).records
  }
  claim(
    'a session can be replayed in order',
    ids,
    (await replay()).map(({ id }) => id),
  )
  claim('a record tells its session', session, (await replay())[0]?.session)
  const list = async () => (await lab.call('memory/session/list', owned)).sessions
  const listed = (await list()).find((one) => one.session === session)
  claim('a session is listed with its number of records', 2, listed?.records)
  await byDefault(lab, claim, session)
  const told = await lab.call('memory/session/close', { session, ...owned })
  claim('a close tells what it closed', session, told.closed)
  const left = (await lab.find(step)).map(({ id }) => id).filter((id) => ids.includes(id))
  claim('a close loses nothing', [...ids].sort(), left.sort())
  const unknown = { session: lab.name('no-such-session'), ...owned }
  claim(
    'a close of what does not exist is no error',
    undefined,
    await lab.codeOf('memory/session/close', unknown),
  )
  const empty = await lab.codeOf('memory/session/close', { session: '', ...owned })
  claim('an empty session is refused', CODES.INVALID_PARAMS, empty)
}

async function byDefault(lab: Lab, claim: Claim, session: string): Promise<void> {
  const step = 'sessions-default'
  const records = [lab.entry(step, { content: 'three' })]
  await lab.call('memory/remember', { records, session, ...ownerParam(lab.owner) })
  const [found] = await lab.find(step)
  claim('a session named for the whole write is that of its records', session, found?.session)
}
