import { gzipSync } from 'node:zlib';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGuard, type GuardedFetchOptions, guardedFetch } from '../../shared/guard/index.ts';
import { type Authority, createAuthority, type ServerIdentity } from './certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from './receiver.ts';

const HOST = 'llm.example.com';
let authority: Authority;
let identity: ServerIdentity;
const receivers: Receiver[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  identity = await authority.issue([HOST]);
});

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

async function fetchTo(answer?: Answering, changes: Partial<GuardedFetchOptions> = {}) {
  const receiver = await startReceiver(identity, answer);
  receivers.push(receiver);
  const resolver = scriptedResolver({ [HOST]: [['127.0.0.1']] });
  const guard = createGuard({ ownHosts: [], resolver, ca: [authority.ca], loopbackNames: [HOST] });
  const fetch = guardedFetch(guard, {
    policy: { purpose: 'provider', allowedPorts: [receiver.port] },
    headersDeadlineMs: 5000,
    idleMs: 5000,
    maxResponseBytes: 1024 * 1024,
    ...changes,
  });
  return { receiver, fetch, base: `https://${HOST}:${receiver.port}` };
}

describe('the guarded fetch', () => {
  it('sends what it is given and answers as fetch does', async () => {
    const { receiver, fetch, base } = await fetchTo((response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'x-id': '7' }).end('{"ok":true}');
    });
    const headers = {
      Authorization: 'Bearer key',
      'content-type': 'application/json',
      host: 'elsewhere.example.com',
    };
    const response = await fetch(`${base}/v1?x=1`, { method: 'POST', headers, body: '{"a":"\u00e4"}' });
    expect([response.status, response.ok, response.headers.get('x-id')]).toEqual([201, true, '7']);
    expect(await response.json()).toEqual({ ok: true });
    expect(receiver.seen).toMatchObject([
      {
        method: 'POST',
        path: '/v1?x=1',
        body: '{"a":"\u00e4"}',
        headers: {
          authorization: 'Bearer key',
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          host: `${HOST}:${receiver.port}`,
        },
      },
    ]);
  });

  it('takes a URL, a Request and bodies that are not text', async () => {
    const { receiver, fetch, base } = await fetchTo();
    await fetch(new URL(`${base}/url`));
    await fetch(new Request(`${base}/request`, { method: 'PUT', body: 'text', headers: { 'x-a': '1' } }));
    await fetch(`${base}/bytes`, { method: 'POST', body: Buffer.from('bytes') });
    await fetch(`${base}/form`, { method: 'POST', body: new URLSearchParams({ a: '1' }) });
    expect(receiver.seen.map(({ method, path, body }) => `${method} ${path} ${body}`)).toEqual([
      'GET /url ',
      'PUT /request text',
      'POST /bytes bytes',
      'POST /form a=1',
    ]);
    expect(receiver.seen[3]?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
  });

  it('answers a status without body as fetch does', async () => {
    const { fetch, base } = await fetchTo((response) => response.writeHead(204).end());
    const response = await fetch(base);
    expect([response.status, await response.text()]).toEqual([204, '']);
  });

  it('rejects a redirect and does not follow it', async () => {
    const { receiver, fetch, base } = await fetchTo((response) => {
      response.writeHead(307, { location: 'https://elsewhere.example.com/' }).end();
    });
    await expect(fetch(base)).rejects.toMatchObject({ failure: { kind: 'redirect', status: 307 } });
    expect(receiver.seen).toHaveLength(1);
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('rejects a refused URL with the text as it was written, and sends nothing', async () => {
    const { receiver, fetch, base } = await fetchTo();
    const rejected = { name: 'ExchangeError', failure: { kind: 'refused' } };
    await expect(fetch(base.replace('//', '//@'))).rejects.toMatchObject(rejected);
    await expect(fetch('https:127.0.0.1')).rejects.toMatchObject(rejected);
    await expect(fetch(base, { headers: { 'x-a': '\u00e4' } })).rejects.toMatchObject(rejected);
    expect(receiver.connections()).toBe(0);
  });

  it('rejects what it would have to decompress', async () => {
    const { fetch, base } = await fetchTo((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}'));
    });
    await expect(fetch(base)).rejects.toMatchObject({ failure: { kind: 'malformed-response' } });
  });

  it('rejects with "fetch failed" what may pass, which callers retry', async () => {
    const { fetch, base } = await fetchTo((response) => response.destroy());
    const error: unknown = await fetch(base).catch((reason) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ message: 'fetch failed', cause: { failure: { kind: 'reset' } } });
  });

  it('rejects with the reason of an aborted signal, before and during the body', async () => {
    const { receiver, fetch, base } = await fetchTo((response) => response.write('x'));
    const before = fetch(base, { signal: AbortSignal.abort() });
    await expect(before).rejects.toMatchObject({ name: 'AbortError' });
    expect(receiver.connections()).toBe(0);
    const caller = new AbortController();
    const response = await fetch(base, { signal: caller.signal });
    const text = response.text();
    caller.abort();
    await expect(text).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('bounds the body, and lets go of one that is cancelled', async () => {
    const small = await fetchTo((response) => response.end('12345'), { maxResponseBytes: 4 });
    const tooLarge = await small.fetch(small.base);
    await expect(tooLarge.text()).rejects.toMatchObject({ failure: { kind: 'response-too-large' } });
    const open = await fetchTo((response) => response.write('x'));
    const response = await open.fetch(open.base);
    await response.body?.cancel();
    await expect.poll(() => open.receiver.open()).toBe(0);
  });
});

describe('the AI SDK on the guarded fetch', () => {
  const completion = {
    id: 'c1',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };

  async function modelTo(answer: Answering) {
    const { receiver, fetch, base } = await fetchTo(answer);
    const provider = createOpenAICompatible({ name: 'test', baseURL: `${base}/v1`, apiKey: 'key', fetch });
    return { receiver, model: provider.chatModel('m') };
  }

  it('generates text', async () => {
    const { receiver, model } = await modelTo((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion));
    });
    const { text } = await generateText({ model, prompt: 'Hi' });
    expect(text).toBe('Hello');
    expect(receiver.seen).toMatchObject([
      { path: '/v1/chat/completions', headers: { authorization: 'Bearer key' } },
    ]);
  });

  it('streams text', async () => {
    const event = (content: string, finish_reason: string | null) =>
      `data: ${JSON.stringify({ ...completion, choices: [{ index: 0, finish_reason, delta: { content } }] })}\n\n`;
    const { model } = await modelTo((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event('Hel', null));
      response.end(`${event('lo', 'stop')}data: [DONE]\n\n`);
    });
    const parts: string[] = [];
    for await (const part of streamText({ model, prompt: 'Hi' }).textStream) parts.push(part);
    expect(parts).toEqual(['Hel', 'lo']);
  });

  it('retries a lost connection, and not a refused address', async () => {
    let calls = 0;
    const { receiver, model } = await modelTo((response) => {
      calls += 1;
      if (calls === 1) response.destroy();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion));
    });
    expect((await generateText({ model, prompt: 'Hi', maxRetries: 1 })).text).toBe('Hello');
    expect(receiver.seen).toHaveLength(2);

    const { fetch } = await fetchTo();
    let tries = 0;
    const counting: typeof fetch = (input, init) => {
      tries += 1;
      return fetch(input, init);
    };
    const refused = createOpenAICompatible({
      name: 'test',
      baseURL: 'https://127.0.0.1/v1',
      fetch: counting,
    });
    await expect(generateText({ model: refused.chatModel('m'), prompt: 'Hi' })).rejects.toThrow();
    expect(tries).toBe(1);
  });
});
