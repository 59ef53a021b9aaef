import { describe, expect, it } from 'vitest';
import { UnusableClientOptions } from '../../shared/client/index.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { createAuthority } from '../guard/certificates.ts';
import { scriptedResolver } from '../guard/receiver.ts';
import { clientOf, MESSAGE, never, POLICY, result, startAgent, task } from './fake-agent.ts';
import { METHODS } from './methods.ts';

describe('every method', () => {
  it.each(METHODS)(
    '%s is a POST that names the version, the method and no tenant where the interface has none (V02, T03)',
    async (name, call, reply) => {
      await using agent = await startAgent(reply);
      const outcome = await call(clientOf(agent));
      expect(JSON.stringify(outcome)).toMatch(/"kind":"(ok|finished)"/);
      expect(agent.seen).toHaveLength(1);
      expect(agent.seen[0]).toMatchObject({
        method: 'POST',
        headers: { 'a2a-version': '1.0', 'content-type': 'application/json', 'accept-encoding': 'identity' },
        rpc: { jsonrpc: '2.0', method: name },
      });
      expect(agent.seen[0]?.rpc.params).not.toHaveProperty('tenant');
    },
  );

  it.each(METHODS)(
    '%s carries the tenant of the chosen interface, whatever the caller says (T03)',
    async (_, call, reply) => {
      await using agent = await startAgent(reply);
      const client = clientOf(agent, { tenant: 'translate' });
      await call(client);
      expect(agent.seen[0]?.rpc.params).toMatchObject({ tenant: 'translate' });
      const params = { id: 't-1', tenant: 'another' };
      await client.getTask(params);
      await clientOf(agent).getTask(params);
      expect(agent.seen.slice(1).map(({ rpc }) => rpc.params?.['tenant'])).toEqual(['translate', undefined]);
    },
  );

  it.each(METHODS)(
    '%s sends the version header also when a header map of the caller would drop or change it (V02)',
    async (_, call, reply) => {
      await using agent = await startAgent(reply);
      const headers = {
        'A2A-VERSION': '0.3',
        'a2a-version': '',
        'A2A-Extensions': 'urn:x',
        'Content-Type': 'text/plain',
      };
      await call(clientOf(agent, { headers }));
      const names = agent.seen[0]?.rawHeaders
        .filter((_, index) => index % 2 === 0)
        .map((name) => name.toLowerCase());
      expect(names?.filter((name) => name === 'a2a-version')).toHaveLength(1);
      expect(agent.seen[0]?.headers).toMatchObject({
        'a2a-version': '1.0',
        'a2a-extensions': 'urn:x',
        'content-type': 'application/json',
      });
    },
  );
});

describe('a credential', () => {
  it.each(['sp_acme_x'.padEnd(60, 'y'), 'a b~!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}', 'Bearer twice', '=='])(
    'arrives byte for byte (T06): %s',
    async (credential) => {
      await using agent = await startAgent(result(task('TASK_STATE_WORKING')));
      await clientOf(agent, { credential, headers: { Authorization: 'Basic eA==' } }).getTask({ id: 't-1' });
      const { rawHeaders } = agent.seen[0]!;
      const values = rawHeaders.filter(
        (_, at) => rawHeaders[at - 1]?.toLowerCase() === 'authorization' && at % 2 === 1,
      );
      expect(values).toEqual([`Bearer ${credential}`]);
    },
  );

  it('is not sent where there is none', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_WORKING')));
    await clientOf(agent, { headers: { authorization: 'Basic eA==' } }).getTask({ id: 't-1' });
    expect(agent.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each(['', ' x', 'x ', 'x\r\ny', 'ü', 'x\0'])(
    'that could not arrive as it is builds no client, and shows in no error: %j',
    (credential) => {
      const build = () => clientOf({ url: 'http://127.0.0.1:1/' }, { credential });
      expect(build).toThrow(UnusableClientOptions);
      expect(build).toThrow('credential: visible ASCII only, and no space at its ends');
    },
  );
});

it.each([
  ['a binding', { protocolBinding: 'GRPC' }],
  ['a version', { protocolVersion: '0.3' }],
  ['a scheme', { url: 'urn:x' }],
])('no client is built for an interface of %s that it does not speak', (_, change) => {
  const target = {
    url: 'https://a.example.com/',
    protocolBinding: 'JSONRPC',
    protocolVersion: '1.0',
    ...change,
  };
  expect(() => clientOf({ url: '' }, { interface: target })).toThrow(UnusableClientOptions);
});

it('headers that may not be sent build no client', () => {
  expect(() => clientOf({ url: 'http://127.0.0.1:1/' }, { headers: { host: 'x' } })).toThrow(
    UnusableClientOptions,
  );
});

describe('a request', () => {
  it('is the same bytes each time that the same message is handed in, and the message stays as it was', async () => {
    await using agent = await startAgent(result({ task: task('TASK_STATE_WORKING') }));
    const request = { message: MESSAGE, configuration: { returnImmediately: true } };
    const before = structuredClone(request);
    await clientOf(agent).sendMessage(request);
    const second = clientOf(agent);
    await second.getTask({ id: 't-1' });
    await second.sendMessage(request);
    expect(agent.seen[2]?.text).toBe(agent.seen[0]?.text);
    expect(agent.seen[0]?.rpc.params).toEqual(before);
    expect(request).toEqual(before);
  });

  it('goes over TLS to a name, through the guard', async () => {
    const authority = await createAuthority();
    await using agent = await startAgent(
      result(task('TASK_STATE_WORKING')),
      await authority.issue(['agent.example.com']),
    );
    const guard = createGuard({
      ownHosts: [],
      ca: [authority.ca],
      resolver: scriptedResolver({ 'agent.example.com': [['127.0.0.1']] }),
      loopbackNames: ['agent.example.com'],
    });
    const client = clientOf(
      { url: `https://agent.example.com:${agent.port}/` },
      { guard, policy: { ...POLICY, allowedPorts: [agent.port] } },
    );
    expect(await client.getTask({ id: 't-1' })).toMatchObject({ kind: 'ok', value: { id: 't-1' } });
  });

  it('is not sent where the guard refuses', async () => {
    await using agent = await startAgent(never());
    const client = clientOf(agent, { guard: createGuard({ ownHosts: [] }) });
    expect(await client.sendMessage({ message: MESSAGE })).toEqual({
      kind: 'transport-error',
      failure: { kind: 'refused', rule: 'scheme' },
      retryable: false,
      mayHaveActed: false,
    });
    expect(agent.seen).toEqual([]);
  });
});
