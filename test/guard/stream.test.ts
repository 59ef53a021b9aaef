import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGuard, type OpenStream, type StreamCall } from '../../shared/guard/index.ts';
import { type Authority, createAuthority, type ServerIdentity } from './certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from './receiver.ts';

const HOST = 'agent.example.com';
let authority: Authority;
let identity: ServerIdentity;
let receiver: Receiver;

beforeAll(async () => {
  authority = await createAuthority();
  identity = await authority.issue([HOST]);
});

afterEach(() => receiver.close());

async function open(answer: Answering, changes: Partial<StreamCall> = {}) {
  receiver = await startReceiver(identity, answer);
  const resolver = scriptedResolver({ [HOST]: [['127.0.0.1']] });
  const guard = createGuard({ ownHosts: [], resolver, ca: [authority.ca], loopbackNames: [HOST] });
  return guard.stream({
    url: `https://${HOST}:${receiver.port}/rpc`,
    policy: { purpose: 'remote-agent', allowedPorts: [receiver.port] },
    method: 'POST',
    headers: { accept: 'text/event-stream' },
    body: '{}',
    headersDeadlineMs: 5000,
    idleMs: 5000,
    maxResponseBytes: 1024 * 1024,
    ...changes,
  });
}

async function opened(answer: Answering, changes: Partial<StreamCall> = {}): Promise<OpenStream> {
  const outcome = await open(answer, changes);
  if (outcome.kind !== 'stream') throw new Error(`not a stream: ${outcome.kind}`);
  return outcome;
}

async function readAll(stream: OpenStream): Promise<string> {
  let text = '';
  for await (const chunk of stream.chunks) text += Buffer.from(chunk).toString();
  return text;
}

describe('a stream', () => {
  it('hands over each chunk when it arrives, and ends with the answer', async () => {
    let next: (text: string) => void = () => {};
    const stream = await opened((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      next = (text) => (text === '' ? response.end() : response.write(text));
    });
    expect(stream).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    const chunks = stream.chunks[Symbol.asyncIterator]();
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      next(text);
      const { value } = await chunks.next();
      expect(Buffer.from(value ?? []).toString()).toBe(text);
    }
    next('');
    expect(await chunks.next()).toMatchObject({ done: true });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('lasts longer than its headers deadline and its idle time together while chunks come', async () => {
    const stream = await opened(
      (response) => {
        let left = 12;
        const drip = setInterval(() => {
          left -= 1;
          if (left > 0) response.write('x');
          else response.end();
        }, 50);
        response.once('close', () => clearInterval(drip));
      },
      { headersDeadlineMs: 200, idleMs: 300 },
    );
    expect(await readAll(stream)).toBe('x'.repeat(11));
  });

  it('ends when its sender falls silent', async () => {
    const stream = await opened((response) => response.write('x'), { idleMs: 200 });
    const failure = { kind: 'timeout', phase: 'answer' };
    await expect(readAll(stream)).rejects.toMatchObject({ name: 'ExchangeError', failure });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('does not blame a slow reader on the sender', async () => {
    const stream = await opened((response) => response.write('x', () => response.end('y')), { idleMs: 100 });
    let text = '';
    for await (const chunk of stream.chunks) {
      text += Buffer.from(chunk).toString();
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    expect(text).toBe('xy');
  });

  it('ends when nobody begins to read it', async () => {
    await opened((response) => response.write('x'), { idleMs: 100 });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('ends when its reader leaves, or closes it unread', async () => {
    const stream = await opened((response) => response.write('x'));
    for await (const _ of stream.chunks) break;
    await expect.poll(() => receiver.open()).toBe(0);
    await receiver.close();
    (await opened((response) => response.write('x'))).close();
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('is bounded in bytes, however it is cut', async () => {
    const endless: Answering = (response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    const stream = await opened(endless, { maxResponseBytes: 100_000 });
    const failure = { kind: 'response-too-large', part: 'body' };
    await expect(readAll(stream)).rejects.toMatchObject({ failure });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('that breaks off says so instead of ending', async () => {
    const stream = await opened((response) => response.write('x', () => response.destroy()));
    await expect(readAll(stream)).rejects.toMatchObject({ failure: { kind: 'reset', phase: 'answer' } });
  });

  it('ends with its caller', async () => {
    const caller = new AbortController();
    const stream = await opened((response) => response.write('x'), { signal: caller.signal });
    const chunks = stream.chunks[Symbol.asyncIterator]();
    await chunks.next();
    const pending = chunks.next();
    caller.abort();
    await expect(pending).rejects.toMatchObject({ failure: { kind: 'aborted' } });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('that never begins is a timeout', async () => {
    const outcome = await open(() => {}, { headersDeadlineMs: 200 });
    expect(outcome).toEqual({ kind: 'timeout', phase: 'exchange' });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('obeys the same rules as any other request', async () => {
    const outcome = await open((response) => response.end(), { url: 'https://127.0.0.1/' });
    expect(outcome).toEqual({ kind: 'refused', rule: 'literal' });
    expect(receiver.connections()).toBe(0);
  });
});
