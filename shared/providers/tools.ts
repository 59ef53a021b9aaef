import { createHash } from 'node:crypto';
import { jsonSchema, type ModelMessage, type ToolResultPart, type ToolSet, tool } from 'ai';
import type { JsonValue, Part } from '../protocol/index.ts';
import type { DelegateCall, DelegationOutcome, GrantedAgent, ProviderRequest } from './types.ts';

/** What a model's run leaves for itself while remote agents work (design §8): its own turns, without the prompt. */
interface Transcript {
  readonly turns: number;
  readonly messages: readonly ModelMessage[];
}

/** Granted agents as tools that nobody executes here: a call of one suspends the run. */
export function agentTools(agents: readonly GrantedAgent[]): ToolSet {
  return Object.fromEntries(
    agents.map((agent) => [
      toolName(agent.id),
      tool({
        description: `Asks the agent "${agent.name}". ${agent.description}`,
        inputSchema: jsonSchema<{ message: string }>({
          type: 'object',
          properties: { message: { type: 'string', description: 'What the agent is to do, in full.' } },
          required: ['message'],
          additionalProperties: false,
        }),
      }),
    ]),
  );
}

/** The turns so far and what the agents answered, behind the prompt. */
export function turnsSoFar(delegation: ProviderRequest['delegation']): {
  readonly turns: number;
  readonly messages: readonly ModelMessage[];
} {
  if (!delegation) return { turns: 0, messages: [] };
  const { turns, messages } = (delegation.transcript ?? { turns: 0, messages: [] }) as unknown as Transcript;
  return {
    turns,
    messages: [...messages, { role: 'tool', content: delegation.outcomes.map(toToolResult) }],
  };
}

/** What a model asked of agents; `undefined`: a call that names no agent of ours, or has no message. */
export function callsOf(
  toolCalls: readonly { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }[],
  agents: readonly GrantedAgent[],
): readonly DelegateCall[] | undefined {
  const calls = toolCalls.map(({ toolCallId, toolName: name, input }) => {
    const agent = agents.find(({ id }) => toolName(id) === name);
    const message = (input as { message?: unknown } | null)?.message;
    return agent && typeof message === 'string' && message.trim() !== ''
      ? { id: toolCallId, agent: agent.id, parts: [{ text: message }] }
      : undefined;
  });
  return calls.every((call) => call !== undefined) ? calls : undefined;
}

export function transcriptOf(
  before: readonly ModelMessage[],
  answer: readonly ModelMessage[],
  turns: number,
) {
  // Plain JSON: it is sealed and read back.
  return JSON.parse(JSON.stringify({ turns, messages: [...before, ...answer] })) as JsonValue;
}

function toToolResult({ call, agent, state, artifacts, message }: DelegationOutcome): ToolResultPart {
  const said = [...artifacts.flatMap(({ parts }) => parts), ...(message ?? [])].map(textOf).filter(Boolean);
  const value =
    state === 'completed' ? said.join('\n\n') || '(no answer)' : `(${state}) ${said.join('\n\n')}`.trim();
  return {
    type: 'tool-result',
    toolCallId: call,
    toolName: toolName(agent),
    output: { type: state === 'completed' ? 'text' : 'error-text', value },
  };
}

function textOf(part: Part): string {
  if (part.text !== undefined) return part.text;
  if (part.data !== undefined) return JSON.stringify(part.data);
  return `[file: ${[part.filename, part.mediaType, part.url].filter(Boolean).join(', ')}]`;
}

/** Model services take letters, digits, `_` and `-`, at most 64. No id of an agent has an `_`, so no two are alike. */
function toolName(agent: string): string {
  const name = `ask_${agent}`;
  if (name.length <= 64) return name;
  return `${name.slice(0, 51)}_${createHash('sha256').update(agent).digest('hex').slice(0, 12)}`;
}
