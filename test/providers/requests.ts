import type { Message, Part } from '../../shared/protocol/index.ts';
import type { ProviderRequest } from '../../shared/providers/index.ts';
import type { Metrics } from '../../shared/runtime/ports.ts';

export function userMessage(parts: Part[], messageId = 'm-1'): Message {
  return { messageId, role: 'ROLE_USER', parts };
}

export function agentMessage(parts: Part[], messageId = 'a-1'): Message {
  return { messageId, role: 'ROLE_AGENT', parts };
}

/** A request with a text, a far deadline and a progress that commits nothing. */
export function makeRequest(changes: Partial<ProviderRequest> = {}): ProviderRequest {
  return {
    task: 'task-1',
    context: 'context-1',
    client: 'acme',
    profile: 'helper',
    message: userMessage([{ text: 'hello' }]),
    history: [],
    contextMessages: [],
    references: [],
    acceptedOutputModes: ['text/plain'],
    agents: [],
    attempt: 1,
    deadline: Date.UTC(2030, 0, 1),
    signal: new AbortController().signal,
    progress: async () => {},
    ...changes,
  };
}

/** Counts up: `id-1`, `id-2`, … */
export function countingIds(): () => string {
  let last = 0;
  return () => `id-${++last}`;
}

export interface Recorded {
  readonly name: string;
  readonly value: number;
  readonly dimensions: Readonly<Record<string, string>> | undefined;
}

export function recordingMetrics(): Metrics & { readonly records: Recorded[] } {
  const records: Recorded[] = [];
  return {
    records,
    count: (name, value = 1, dimensions) => records.push({ name, value, dimensions }),
    milliseconds: (name, value, dimensions) => records.push({ name, value, dimensions }),
  };
}
