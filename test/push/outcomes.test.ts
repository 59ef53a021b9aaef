import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority } from '../guard/certificates.ts';
import type { Seen } from '../guard/receiver.ts';
import { deliverOne, guardOf, type Push, startPush, startWebhooks } from './rig.ts';

/** Shorter than an exchange, longer than one on this machine. */
const EXCHANGE_MS = 400;

/** What a path of the receiver does; anything else answers with the status that the path says. */
const doings: Record<string, (response: ServerResponse) => void> = {
  '/silent': () => {},
  '/slow-header': (response) => response.socket?.write('HTTP/1.1 200 OK\r\nX-Slow: '),
  '/endless': (response) => {
    response.writeHead(200);
    const more = () => response.write('x'.repeat(65_536), (error) => error ?? setImmediate(more));
    more();
  },
  '/reset': (response) => response.socket?.destroy(),
  '/garbage': (response) => response.socket?.end('SMTP 220 ready\r\n\r\n'),
  '/huge-header': (response) => response.socket?.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`),
};

describe('an attempt', () => {
  let push: Push;
  let closedPort: number;
  beforeAll(async () => {
    closedPort = await freePort();
    push = await startPush({
      exchangeMs: EXCHANGE_MS,
      ports: [closedPort],
      answer: (response, { path }) => {
        const doing = doings[path];
        if (doing) return doing(response);
        const { status, after, location } = Object.fromEntries(new URLSearchParams(path.slice(2)));
        response.writeHead(Number(status ?? 200), {
          ...(after ? { 'Retry-After': after } : {}),
          ...(location ? { Location: location } : {}),
        });
        response.end();
      },
    });
  });
  afterAll(() => push[Symbol.asyncDispose]());

  /** One attempt of the first event of a new task. */
  async function attempt(url: string) {
    const seen = push.webhooks.receiver.seen.length;
    const connections = push.webhooks.receiver.connections();
    const task = await push.send('one event', {
      url,
      authentication: { scheme: 'bearer', credentials: 'for-one-host-only' },
    });
    await push.gateway.follow(task);
    await push.outbox.drain();
    const shown = await push.show(task);
    const [woken, ...more] = push.outbox.waiting.splice(0);
    expect(more).toEqual([]);
    return {
      task,
      config: shown.state,
      ...(shown.reason ? { reason: shown.reason } : {}),
      job: shown.jobs[0]?.state,
      attempts: shown.attempts.map((one) => one.status ?? one.class),
      wakes: woken ? woken.at - push.clock.now() : undefined,
      seen: push.webhooks.receiver.seen.slice(seen) as readonly Seen[],
      connected: push.webhooks.receiver.connections() > connections,
    };
  }

  const path = (more: string) => push.webhooks.url(more);

  test.each([200, 201, 202, 204, 299])('that is answered %i has delivered', async (status) => {
    expect(await attempt(path(`/?status=${status}`))).toMatchObject({
      config: 'active',
      job: 'delivered',
      attempts: [status],
      wakes: undefined,
    });
  });

  test.each([429, 502, 503, 504])('that is answered %i is repeated within ten seconds', async (status) => {
    const made = await attempt(path(`/?status=${status}`));
    expect(made).toMatchObject({ config: 'active', job: 'open', attempts: [status] });
    expect(made.wakes).toBeGreaterThanOrEqual(0);
    expect(made.wakes).toBeLessThanOrEqual(10_000);
  });

  test.each([
    ['120', 120_000],
    ['600', 600_000],
    // More patience than ten minutes is not granted.
    ['86400', 600_000],
    [new Date(Date.UTC(2026, 0, 12, 9, 5)).toUTCString(), 300_000],
  ])('that is answered with Retry-After: %s is not repeated before', async (after, ms) => {
    for (const status of [429, 503]) {
      const made = await attempt(path(`/?${new URLSearchParams({ status: String(status), after })}`));
      expect(made).toMatchObject({ job: 'open', wakes: ms });
    }
  });

  test.each([
    ['/silent', 'timeout'],
    ['/slow-header', 'timeout'],
    ['/reset', 'reset'],
  ])('of %s ends as %s and is repeated', async (at, kind) => {
    const started = performance.now();
    const made = await attempt(path(at));
    expect(made).toMatchObject({ config: 'active', job: 'open', attempts: [kind] });
    expect(made.wakes).toBeLessThanOrEqual(10_000);
    expect(performance.now() - started).toBeLessThan(EXCHANGE_MS + 3_000);
  });

  test('has 15 seconds for the whole exchange, and its answer is dropped unread', async () => {
    const calls: object[] = [];
    const { guard } = push.webhooks;
    const request: typeof guard.request = async (call) => {
      calls.push(call);
      return { kind: 'response', status: 204, headers: {} };
    };
    const task = await push.send('how it is called', { url: path('/') });
    await push.gateway.follow(task);
    const { consume } = push.outbox;
    push.outbox.consume = (one) => deliverOne({ ...push.services, guard: { ...guard, request } }, one);
    await push.outbox.drain();
    push.outbox.consume = consume;
    expect(calls).toMatchObject([{ method: 'POST', deadlineMs: 15_000, discardBody: true }]);
  });

  test('with an endless answer has delivered, and the connection is not kept', async () => {
    expect(await attempt(path('/endless'))).toMatchObject({ job: 'delivered', attempts: [200] });
    await expect.poll(() => push.webhooks.receiver.open()).toBe(0);
  });

  test('of a closed port is repeated', async () => {
    const made = await attempt(`https://hooks.example.com:${closedPort}/`);
    expect(made).toMatchObject({ config: 'active', job: 'open', attempts: ['connect-failure'] });
    expect(made.wakes).toBeLessThanOrEqual(10_000);
  });

  test('of a name that is not found is repeated', async () => {
    const made = await attempt(push.webhooks.url('/', 'nowhere.example.com'));
    expect(made).toMatchObject({
      config: 'active',
      job: 'open',
      attempts: ['dns-failure'],
      connected: false,
    });
    expect(made.wakes).toBeLessThanOrEqual(10_000);
  });

  test('of a server with a certificate for another name is repeated, and sends nothing', async () => {
    const made = await attempt(push.webhooks.url('/', 'other.example.com'));
    expect(made).toMatchObject({ config: 'active', job: 'open', attempts: ['tls-failure'], seen: [] });
  });

  test('of a server whose authority nobody trusts is repeated, and sends nothing', async () => {
    const stranger = await createAuthority();
    const services = { ...push.services, guard: guardOf([stranger.ca]) };
    const { consume } = push.outbox;
    push.outbox.consume = (one) => deliverOne(services, one);
    const made = await attempt(path('/'));
    push.outbox.consume = consume;
    expect(made).toMatchObject({ config: 'active', job: 'open', attempts: ['tls-failure'], seen: [] });
  });

  test.each([401, 403])('that is answered %i pauses the config and holds the job', async (status) => {
    expect(await attempt(path(`/?status=${status}`))).toMatchObject({
      config: 'paused',
      reason: 'authentication_failed',
      job: 'open',
      attempts: [status],
      wakes: undefined,
    });
  });

  test.each([404, 410])('that is answered %i stops the config and fails the job', async (status) => {
    const made = await attempt(path(`/?status=${status}`));
    expect(made).toMatchObject({
      config: 'stopped',
      reason: 'gone',
      job: 'failed',
      attempts: [status],
      wakes: undefined,
    });
    // Out of the head: later revisions make no jobs for it.
    await push.finish(made.task);
    await push.outbox.drain();
    expect((await push.show(made.task)).jobs).toHaveLength(1);
    expect(push.webhooks.receiver.seen.at(-1)?.body).toContain('SUBMITTED');
  });

  test.each([
    ['inside.example.com', 'loopback'],
    ['mixed.example.com', 'private'],
  ])('of %s sends no packet, stops the config and is a security event', async (host, addressClass) => {
    const made = await attempt(push.webhooks.url('/', host));
    expect(made).toMatchObject({
      config: 'stopped',
      reason: 'address_refused',
      job: 'failed',
      attempts: ['refused'],
      connected: false,
      seen: [],
    });
    const audits = await push.store.query({ table: 'registry', partition: 'audit#202601' });
    const about = audits.items.filter(({ id }) => String(id).startsWith(made.task));
    expect(about).toMatchObject([{ actor: 'gateway', operation: 'push.stop', client: 'alice' }]);
    expect(about[0]).toMatchObject({ reason: 'address_refused', addressClass });
    expect(JSON.stringify(about)).not.toContain(host);
    expect(push.gateway.metrics.total('GuardRefused')).toBeGreaterThan(0);
  });

  test('of a URL that the operator no longer allows is refused without a look-up, and none begins', async () => {
    const task = await push.send('one event', { url: path('/') });
    const { consume } = push.outbox;
    const policyOf = async () => ({ purpose: 'webhook', allowHosts: ['elsewhere.example.com'] }) as const;
    push.outbox.consume = (one) => deliverOne({ ...push.services, policyOf }, one);
    await push.gateway.follow(task);
    await push.outbox.drain();
    push.outbox.consume = consume;
    expect(await push.show(task)).toMatchObject({
      state: 'stopped',
      reason: 'address_refused',
      jobs: [{ state: 'failed' }],
      attempts: [],
    });
  });

  test.each([302, 307, 301, 308])(
    'that is answered %i goes nowhere else and is not repeated',
    async (status) => {
      const second = await startWebhooks();
      const location = second.url('/stolen');
      const made = await attempt(path(`/?${new URLSearchParams({ status: String(status), location })}`));
      expect(made).toMatchObject({ config: 'active', job: 'failed', attempts: [status], wakes: undefined });
      expect(made.seen).toHaveLength(1);
      expect(second.receiver.connections()).toBe(0);
      await second[Symbol.asyncDispose]();
    },
  );

  test.each([400, 405, 413, 415, 422, 500, 501, 505, 599])(
    'that is answered %i has failed and is not repeated',
    async (status) => {
      expect(await attempt(path(`/?status=${status}`))).toMatchObject({
        config: 'active',
        job: 'failed',
        attempts: [status],
        wakes: undefined,
      });
    },
  );

  test.each([
    ['/garbage', 'malformed-response'],
    ['/huge-header', 'response-too-large'],
  ])('of %s ends as %s, which is an answer like any other', async (at, kind) => {
    expect(await attempt(path(at))).toMatchObject({ config: 'active', job: 'failed', attempts: [kind] });
  });

  test('is counted by its class, with how long it took', () => {
    const { measurements } = push.gateway.metrics;
    const classes = measurements
      .filter(({ name }) => name === 'PushAttempt')
      .map(({ dimensions }) => dimensions?.['class']);
    expect(new Set(classes)).toEqual(
      new Set([
        ...['2xx', '3xx', '4xx', '5xx', 'timeout', 'reset', 'connect-failure', 'dns-failure'],
        ...['tls-failure', 'refused', 'malformed-response', 'response-too-large'],
      ]),
    );
    expect(push.gateway.metrics.total('PushHalted')).toBeGreaterThan(0);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
