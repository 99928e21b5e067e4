/** One thing that the specification requires, in our words; `client` is what the gateway owes its upstreams. */
export interface Requirement {
  readonly who: 'server' | 'client'
  readonly text: string
}

export function server(text: string): Requirement {
  return { who: 'server', text }
}

export function client(text: string): Requirement {
  return { who: 'client', text }
}
