import { createSecureContext } from 'node:tls';
import { Agent, buildConnector, request } from 'undici';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { failureOf } from '../../shared/guard/outcome.ts';
import { checkedConnector, type Progress, pinnedAgent } from '../../shared/guard/pinned.ts';
import { type Authority, createAuthority } from './certificates.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const HOST = 'hooks.example.com';
let authority: Authority;
let receiver: Receiver;

beforeAll(async () => {
  authority = await createAuthority();
});

afterEach(() => receiver.close());

/** undici's connector with a look-up that does not keep to what was vetted, as an upgrade might. */
function strayAgent(vetted: string[], progress: Progress): Agent {
  const answer = { address: '127.0.0.1', family: 4 };
  const connector = buildConnector({
    ca: authority.ca,
    lookup: (_name, { all }, callback) =>
      all ? callback(null, [answer]) : callback(null, answer.address, 4),
  });
  return new Agent({ connect: checkedConnector(connector, vetted, progress) });
}

it('drops a connection whose other end was not vetted, before the request is written', async () => {
  receiver = await startReceiver(await authority.issue([HOST]));
  const progress: Progress = { phase: 'connect' };
  await using agent = disposable(strayAgent(['127.0.0.2'], progress));
  const sent = request(`https://${HOST}:${receiver.port}/`, { dispatcher: agent.value });
  const error: unknown = await sent.then(
    () => undefined,
    (reason) => reason,
  );
  expect(failureOf(error, progress.phase)).toEqual({ kind: 'refused', rule: 'pinning' });
  expect(receiver.seen).toEqual([]);
});

it('knows a vetted address however it is spelled', async () => {
  receiver = await startReceiver(await authority.issue([HOST]));
  const progress: Progress = { phase: 'connect' };
  await using agent = disposable(strayAgent(['::ffff:7f00:1', '127.0.0.1'], progress));
  const { statusCode, body } = await request(`https://${HOST}:${receiver.port}/`, {
    dispatcher: agent.value,
  });
  await body.dump();
  expect([statusCode, progress.phase]).toEqual([200, 'exchange']);
});

it('makes one connection and no second one', async () => {
  receiver = await startReceiver(await authority.issue([HOST]));
  const context = createSecureContext({ ca: authority.ca });
  const target = { host: HOST, addresses: ['127.0.0.1'] };
  await using agent = disposable(pinnedAgent(target, context, { phase: 'connect' }));
  const url = `https://${HOST}:${receiver.port}/`;
  const first = await request(url, { dispatcher: agent.value });
  await first.body.dump();
  await expect(request(url, { dispatcher: agent.value })).rejects.toMatchObject({
    code: 'GUARD_CONNECTION_LOST',
  });
  expect(receiver.connections()).toBe(1);
});

function disposable(agent: Agent) {
  return { value: agent, [Symbol.asyncDispose]: () => agent.destroy() };
}
