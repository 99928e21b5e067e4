/** The upstreams and tiers of a gateway that is told of none, as a file would say it. */
export const EMBEDDED = {
  upstreams: {
    working: { store: 'sqlite', path: 'working.db' },
    knowledge: { store: 'sqlite', path: 'knowledge.db' },
    procedural: { store: 'sqlite', path: 'procedural.db' },
  },
  tiers: {
    working: {
      kind: 'working',
      upstream: 'working',
      capacity: 64,
      per_session: true,
      spill_to: 'episodic',
    },
    episodic: { kind: 'episodic', upstream: 'knowledge' },
    semantic: { kind: 'semantic', upstream: 'knowledge' },
    procedural: { kind: 'procedural', upstream: 'procedural' },
  },
} as const
