import { client, server } from './requirement.js'

/** Ranking, identity, errors and transports (§5 to §8). */
export const WIRE = {
  '5.2/where': server('where is equality with fields, then with metadata, all of it at once.'),
  '5.2/any-of': server('A list in where is any one of its values.'),

  '5.3/descending': server('Recalled records come by falling score.'),
  '5.3/no-comparison': client('No score of one server is held against one of another.'),

  '6/principal': server('Over a network the owner is the one of whose credential is shown.'),
  '6/disagreeing': server('An owner that disagrees with it is passed over, or fails with -32005.'),
  '6/unauthenticated': server('Without credentials no scopes are declared over a network.'),
  '6/documented': server('The documentation says which of these holds.'),

  '7/parse-error': server('What is not JSON fails with -32700.'),
  '7/invalid-request': server('What is not one JSON-RPC request fails with -32600.'),
  '7/method-not-found': server('What is no method of A2M fails with -32601.'),
  '7/invalid-params': server('Parameters that are missing or malformed fail with -32602.'),
  '7/internal-error': server('A fault of the server fails with -32603.'),
  '7/unknown-record': server(
    'Ids that are not there are passed over by every method that takes ids.',
  ),
  '7/unknown-tier': server('A tier that is not there fails with -32002.'),
  '7/capability': server('A method or selector of an undeclared capability fails with -32003.'),
  '7/read-only': server('A write to what takes none fails with -32004.'),
  '7/scope-denied': server('Records of somebody else fail with -32005.'),
  '7/quota': server('-32006 is for limits alone, and one of an upstream is not the caller’s.'),
  '7/protocol': server('An incompatible version fails with -32007.'),
  '7/embedding': server('A vector of another width fails with -32008.'),
  '7/message': client('Errors are told apart by their code, never by their message.'),

  '8/no-batch': server('An array is refused with -32600.'),
  '8/no-requests': server('A server sends replies and notifications, never a request.'),

  '8.2/one-line': server('A message has no line break in it.'),
  '8.2/stdout': server('Nothing but messages goes to stdout.'),
  '8.2/stderr': server('Logs go to stderr.'),
  '8.2/interleaved': client('Replies are matched by id, with notifications in between.'),
  '8.2/end': server('The end of the input ends the server cleanly.'),

  '8.3/array': server('An array in the body is refused with -32600.'),
  '8.3/answered': server('A request is answered with 200, its reply as application/json.'),
  '8.3/notification': server('A notification is answered with 202 and no body.'),
  '8.3/protocol-errors': server('An error of the protocol is a 200, never another status.'),
  '8.3/authenticated': server('Callers are authenticated before scopes are declared.'),
  '8.3/no-push': server('Over HTTP push is never true, and subscribe fails with -32003.'),

  '8.3.1/refused': server('An Origin that is not let in is refused with 403.'),
  '8.3.1/absent': server('A request without an Origin is not concerned.'),

  '8.3.2/refused': server('A version in the header that is not spoken is a 400 with -32007.'),
  '8.3.2/absent': server('A request without the version header is none the worse for it.'),
} as const
