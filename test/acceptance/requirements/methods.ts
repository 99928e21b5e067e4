import { client, server } from './requirement.js'

/** The methods (§4). */
export const METHODS = {
  '4/by-name': server('Parameters are taken by name.'),

  '4.1/called-first': client('The first call to a server is memory/describe.'),
  '4.1/answer': server('describe tells protocol, name, capabilities and methods.'),
  '4.1/limits': server('Limits that are declared are enforced with -32602 or -32006.'),
  '4.1/no-pretence': server('No version is spoken that is not served: it is -32007.'),
  '4.1/exact-minor': server('Below 1.0 only the same minor version is compatible.'),

  '4.2/records': server('remember without a record to write is refused with -32602.'),
  '4.2/ids': server('remember gives one id for each entry, in their order.'),
  '4.2/undeclared-fields': server('Fields of capabilities that are not declared are passed over.'),
  '4.2/undeclared-tier': server('A tier on a write fails with -32003 where there are no tiers.'),
  '4.2/atomic-or-told': server('Where a batch is not atomic, the documentation says so.'),
  '4.2/no-short-list': server('A batch that was not written whole is an error, never fewer ids.'),

  '4.3/no-query': server('Without a query, or with an empty one, recall still ranks and answers.'),
  '4.3/limit-zero': server('limit 0 is no limit only where no max_recall_limit is declared.'),

  '4.4/ascending': server('timeline is in the order of creation, the oldest first.'),
  '4.4/newest': server('timeline with a limit gives the newest, still the oldest first.'),
  '4.4/where': server('timeline takes where, wherever sessions are declared.'),
  '4.4/no-search': server('timeline is no search, and recall no timeline.'),

  '4.5/selector': server('forget without any selector is refused with -32602.'),
  '4.5/deliberate': server('An empty request deletes nothing.'),

  '4.6/required': server('promote without ids or tier is refused with -32602.'),
  '4.6/unknown-tier': server('promote to a tier that is not there fails with -32002.'),
  '4.6/unknown-ids': server('Ids that are not there are no failure of promote and not counted.'),
  '4.6/already-there': server('Records that are in the tier already are not counted.'),

  '4.7/tiers': server('Each tier in describe has its name and its count.'),
  '4.7/not-assumed': client('No record is taken to be there still after a consolidation.'),

  '4.8/required': server('reinforce without ids is refused with -32602.'),

  '4.9/required': server('fetch without a key, or with an empty one, is refused with -32602.'),
  '4.9/unused': server('fetch of a key that nothing is under gives null and no error.'),

  '4.10/entries': server('Each session in the list has its name and how many records it has.'),

  '4.11/required': server('close without a session, or an empty one, is refused with -32602.'),
  '4.11/kept': server('Closing a session destroys none of its records: they move.'),
  '4.11/unknown': server('Closing a session that is not there does nothing and does not fail.'),

  '4.12/exactly-once': server('From cursor to cursor each kept event comes once and in order.'),
  '4.12/reset': server('From before the window, reading says reset and begins with the oldest.'),
  '4.12/scoped': server('An event is told to those alone who could have recalled its record.'),
  '4.12/coalesced': server('A consolidation is one event, and so is a forget.'),
  '4.12/event': server('Each event has its kind and its time.'),

  '4.13/told': server('describe tells whether events are pushed.'),
  '4.13/truthful': server('push is never true on a connection that cannot carry it.'),
  '4.13/refused': server('subscribe fails with -32003 on a connection that cannot push.'),
  '4.13/opt-in': server('Nothing is pushed to who has not subscribed.'),
  '4.13/ends': server('A subscription ends by unsubscribe or with its connection.'),
  '4.13/one-log': server('What was pushed can be read by cursor as well.'),

  '4.14/no-op': server('unsubscribe without a subscription does nothing and does not fail.'),

  '4.15/selector': server('summarize without any selector is refused with -32602.'),
  '4.15/sources': server('summarize deletes none of the records that it read.'),
  '4.15/key': server('A summary under an occupied key replaces what is there.'),
  '4.15/not-declared': server('Who cannot summarize, or is not set up to, does not declare it.'),
  '4.15/described': server('describe tells the model, null where there is none.'),
  '4.15/read-only': server('A read-only server answers summarize with -32004.'),
  '4.15/declined': server('Nothing to say is no error: no records and written 0.'),

  '4.16/described': server('describe tells the styles and the methods of prompt.'),
  '4.16/template': server('Without a method it is template, and no model is asked.'),
  '4.16/unoffered': server('A method or model that is not offered is refused with -32602.'),
  '4.16/no-substitute': server('No other method or model takes the place of the one asked for.'),
  '4.16/same-records': server('The same records come in the same order, text or no text.'),
  '4.16/whole-records': server('A budget takes whole records away and cuts none.'),
  '4.16/undeclared': server('Where it is not declared, prompt is passed over.'),
  '4.16/additional': server('Text comes beside the whole records, and only where asked for.'),
} as const
