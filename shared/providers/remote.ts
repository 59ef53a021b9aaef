import { failed } from './failure.ts';
import type { DelegationOutcome, ProviderAdapter, ProviderResult } from './types.ts';

/** Hands the whole task on to one remote agent and ends as that agent's task ended (design §8). */
export function createRemoteAdapter(agent: string): ProviderAdapter {
  return {
    async run(request) {
      const outcome = request.delegation?.outcomes[0];
      if (outcome) return resultOf(outcome);
      return { kind: 'delegated', calls: [{ id: 'task', agent, parts: request.message.parts }] };
    },
  };
}

function resultOf({ state, artifacts, message }: DelegationOutcome): ProviderResult {
  const words = message === undefined ? {} : { message };
  switch (state) {
    case 'completed':
      return { kind: 'completed', artifacts, ...words };
    case 'rejected':
      return { kind: 'rejected', ...words };
    case 'failed':
    case 'canceled':
      return failed('declared', words);
  }
}
