import type { Answering } from '../guard/receiver.ts';

/** What a remote agent was told of us, and how it answers. */
export interface ScriptedAgent {
  /** State of its task. */
  state: string;
  /** Where it is to call back, by what credential: of the last registration. */
  push: { readonly url: string; readonly authentication: { readonly credentials: string } } | undefined;
  /** Methods called, in order. */
  readonly called: string[];
}

/** Answers as an A2A agent that works on one task, whose state the test sets. */
export function scriptedAgent(host: string): ScriptedAgent & { readonly answer: Answering } {
  const called: string[] = [];
  const agent: ScriptedAgent & { answer: Answering } = {
    state: 'TASK_STATE_WORKING',
    push: undefined,
    called,
    answer(response, seen, request) {
      response.setHeader('content-type', 'application/json');
      if (seen.method === 'GET')
        return void response.end(JSON.stringify(cardOf(host, request.socket.localPort)));
      const { id, method, params } = JSON.parse(seen.body);
      called.push(method);
      const result = resultOf(agent, method, params);
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    },
  };
  return agent;
}

function resultOf(
  agent: ScriptedAgent,
  method: string,
  // biome-ignore lint/suspicious/noExplicitAny: a request is looked into.
  params: any,
): object {
  const spoken = { messageId: 'far-1', role: 'ROLE_AGENT', parts: [{ text: 'from afar' }] };
  const done = agent.state === 'TASK_STATE_COMPLETED';
  const task = {
    id: 'far-task',
    contextId: 'far-context',
    status: { state: agent.state, timestamp: '2026-12-01T00:00:00Z', message: spoken },
    ...(done ? { artifacts: [{ artifactId: 'a', parts: [{ text: 'brought from afar' }] }] } : {}),
  };
  switch (method) {
    case 'SendMessage':
      agent.push = params.configuration?.taskPushNotificationConfig ?? agent.push;
      return { task };
    case 'CreateTaskPushNotificationConfig':
      agent.push = params;
      return params;
    default:
      return task;
  }
}

function cardOf(host: string, port: number | undefined): object {
  return {
    name: 'Far',
    description: 'Works far away.',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `https://${host}:${port}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
}
