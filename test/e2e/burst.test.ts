import { expect, it, vi } from 'vitest';
import { call, message } from '../local/rpc.ts';
import { liftQuotas } from './administer.ts';
import { startCommand } from './command.ts';
import { asksForAColour, makeFolder } from './function-provider.ts';

const SENDS = 500;
const SUBSCRIBERS = 20;

it('answers the card and completes every task while 500 messages arrive at once beside idle subscribers', async () => {
  using folder = makeFolder();
  const order = folder.handler('order', asksForAColour);
  // A process of its own: the callers' work is none of the gateway's.
  await using host = await startCommand(['--function', `order=${order}`], {
    direct: true,
    variables: { SEALPOST_ADMIN_TOKEN: 'burst' },
  });
  await liftQuotas(host.url, 'burst');

  const asked = (await call(host, 'SendMessage', message('A car.', 'order'))).body.result?.task?.id ?? '';
  const idle = new AbortController();
  const subscribers = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, () =>
      fetch(`${host.url}/rpc`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${host.token}`,
          'a2a-version': '1.0',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: asked } }),
        signal: idle.signal,
      }),
    ),
  );
  expect(subscribers.map(({ status }) => status)).toEqual(subscribers.map(() => 200));

  let sending = true;
  const sent = Promise.all(
    Array.from({ length: SENDS }, (_, i) => call(host, 'SendMessage', message(`${i}`))),
  ).finally(() => {
    sending = false;
  });
  const cards: number[] = [];
  while (sending) {
    const before = performance.now();
    const card = await fetch(host.cardUrl);
    await card.arrayBuffer();
    expect(card.status).toBe(200);
    cards.push(performance.now() - before);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const ids = (await sent).map(({ body }) => body.result?.task?.id ?? body.error?.message);
  expect(new Set(ids).size).toBe(SENDS);
  const slowest = Math.max(...cards);
  console.log(`${SENDS} sends at once: card ${cards.length} times, slowest ${slowest.toFixed(0)} ms`);
  // R04: within a second. The one that comes with all 500 at once stands behind them, and a busy machine may hold up one
  // more: a gateway that is stuck answers none.
  const late = cards.filter((took) => took >= 1_000);
  expect(late.length).toBeLessThanOrEqual(Math.floor(cards.length / 50));

  const count = async (status: string) => {
    const { body } = await call(host, 'ListTasks', { status, pageSize: 1 });
    return (body.result as { totalSize?: number } | undefined)?.totalSize;
  };
  await vi.waitFor(async () => expect(await count('TASK_STATE_COMPLETED')).toBe(SENDS), {
    timeout: 120_000,
    interval: 500,
  });
  expect(await count('TASK_STATE_INPUT_REQUIRED')).toBe(1);
  idle.abort();
}, 300_000);
