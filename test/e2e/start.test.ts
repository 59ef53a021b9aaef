import { describe, expect, it } from 'vitest';
import { call, message, textOf } from '../local/rpc.ts';
import { startCommand } from './command.ts';

describe('`npm start -s -- --json`', () => {
  it('is ready within three seconds', async () => {
    await using host = await startCommand();
    expect(host.readyAfterMs).toBeLessThan(3_000);
    expect(textOf((await call(host, 'SendMessage', message('Hello!'))).body.result?.task)).toBe('Hello!');
  });

  it('runs beside another one, each with tasks and tokens of its own', async () => {
    const [one, two] = await Promise.all([startCommand(), startCommand()]);
    await using _one = one;
    await using _two = two;
    const sent = await Promise.all([one, two].map((host) => call(host, 'SendMessage', message(host.url))));
    expect(sent.map(({ body }) => textOf(body.result?.task))).toEqual([one.url, two.url]);
    const id = sent[0]?.body.result?.task?.id ?? '';
    expect((await call(two, 'GetTask', { id })).body.error?.code).toBe(-32001);
    expect((await call({ url: two.url, token: one.token }, 'GetTask', { id })).status).toBe(401);
    await one.interrupt();
    expect(textOf((await call(two, 'SendMessage', message('still here'))).body.result?.task)).toBe(
      'still here',
    );
  });
});
