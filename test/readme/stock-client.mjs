import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from '@a2a-js/sdk/client';

const { GATEWAY_URL, TOKEN } = process.env;
const fetchImpl = (url, init) =>
  fetch(url, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${TOKEN}` } });
const transports = [new JsonRpcTransportFactory({ fetchImpl })];
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
);
const client = await factory.createFromUrl(`${GATEWAY_URL}/agents/parrot/`, '.well-known/agent-card.json');

const parts = [{ content: { $case: 'text', value: 'Hello from the SDK!' } }];
const message = { messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts };
for await (const { payload } of client.sendMessageStream({ message })) {
  if (payload?.$case === 'artifactUpdate') console.log(payload.value.artifact?.parts[0]?.content?.value);
  if (payload?.$case === 'statusUpdate') console.log(TaskState[payload.value.status?.state ?? 0]);
}
