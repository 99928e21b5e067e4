import { client, server } from './requirement.js'

/** Conformance and the data model (§2, §3). */
export const MODEL = {
  '2/core-methods': server('All five methods of core are there and answer as specified.'),
  '2/truthful': server('No capability is declared that is not there as a whole.'),
  '2/undeclared': server('A method of a capability that is not declared fails with -32003.'),
  '2/undeclared-is-known': server('Such a method is never answered as an unknown one, -32601.'),
  '2/describe-first': client('A server is asked to describe itself before anything else.'),
  '2/declared-only': client('No method is called whose capability the server does not declare.'),
  '2/unknown-fields': client('Fields of a record that are not known do no harm.'),
  '2/unknown-params': server('Parameters that are not known are passed over, never refused.'),

  '2.1/writes-refused': server('A read-only server answers remember and forget with -32004.'),
  '2.1/reads-answered': server('A read-only server describes itself and is read as any other.'),
  '2.1/all-or-none': server('Who refuses one write as read-only refuses every write so.'),
  '2.1/tolerated': client('-32004 from remember or forget is an answer: no outage, no retry.'),

  '3.1/record': server('A record has an id, content and the time of its creation.'),
  '3.1/content': server('An entry without content is refused with -32602.'),
  '3.1/metadata': server('Metadata of any structure comes back as it was given.'),
  '3.1/metadata-kept': server('Metadata that cannot be kept fails its write with -32602.'),

  '3.2/opaque': client('An id of any form is handed on as it is, and nothing is read from it.'),
  '3.2/one-record': server('A second write under an id of the caller makes no second record.'),
  '3.2/existing-id': server('A write under an id that exists is answered with that id.'),
  '3.2/assigned': server('A record without an id is given one that nothing else in the store has.'),

  '3.3/timestamps': server('Times are texts in UTC, to the millisecond, with a Z at their end.'),
  '3.3/no-numbers': server('No time is a number.'),

  '3.4/together': server('Records of one group are kept together or discarded together.'),
  '3.4/moved-together': server('No record of a group goes to another tier without the rest of it.'),

  '3.5/kept': server('The session given to remember comes back on the record.'),
  '3.5/timeline-where': server('A session can be replayed by where on timeline.'),
  '3.5/no-session': server('Records without a session belong to no session that has a name.'),

  '3.6/replacement': server(
    'A write to an occupied key leaves the id, takes the new content and counts the revision up.',
  ),
  '3.6/per-owner': server('Two owners may each have a record of their own under one key.'),
  '3.6/prefix': server('key_prefix on recall, timeline and forget is all keys at or beneath it.'),

  '3.7/verbatim': server('A vector comes back with the very numbers that were given.'),
  '3.7/not-generated': server('No vector is made for a record that brings its own.'),
  '3.7/not-replaced': server('No vector that was given is replaced by another.'),
  '3.7/described': server('describe tells the dimensions, null before the first, and the metric.'),
  '3.7/width': server('A vector of another width than the store’s fails with -32008.'),
  '3.7/on-request': server('Vectors come along only where embeddings: true asks for them.'),
  '3.7/not-empty': server('A vector without a number in it is refused with -32602.'),

  '3.8/unchanged': server('uri and media_type come back as they were given.'),
  '3.8/never-fetched': server('Nobody goes to a uri: not on a write, not on a read, not later.'),
  '3.8/empty-content': server('A record with a uri may have empty content.'),
} as const
