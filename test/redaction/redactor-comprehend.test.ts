import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ComprehendClient,
  createComprehendClient,
  createComprehendRedactor,
  MAX_PASSAGE_BYTES,
} from '../../shared/redaction/redactor-comprehend.ts';

interface Asked {
  readonly Text: string;
  readonly LanguageCode: string;
}
type Answer = { readonly status?: number; readonly body: unknown };
type Entity = { Type: string; BeginOffset: unknown; EndOffset: unknown };

let fake: Awaited<ReturnType<typeof startComprehend>>;
let client: ComprehendClient;
beforeEach(async () => {
  fake = await startComprehend();
  client = createComprehendClient({ AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_COMPREHEND: fake.url });
  // The default chain is not asked for credentials, nor does a retry wait: neither is what is tested.
  client.config.credentials = async () => ({ accessKeyId: 'id', secretAccessKey: 'key' });
});
afterEach(async () => {
  client.destroy();
  await fake.stop();
});
const redact = (texts: readonly string[], options = {}) =>
  createComprehendRedactor(client).redactTexts(texts, { words: [], ...options });

describe('Comprehend', () => {
  it('adds what it finds to what the patterns find', async () => {
    fake.find = {
      NAME: /Ann Example/g,
      ADDRESS: /1 Main St/g,
      CA_HEALTH_NUMBER: /H-\d+/g,
      NEW_TYPE: /novel/g,
    };
    expect(
      await redact(['Ann Example, 1 Main St, a@b.io, H-7, novel, falcon, password=x1'], {
        words: ['falcon'],
      }),
    ).toEqual(['[NAME], [ADDRESS], [EMAIL], [ID], [PII], [WORD], password=[SECRET]']);
  });

  it('is asked in the language of the options, English without one', async () => {
    await redact(['hola'], { language: 'es' });
    await redact(['hello']);
    expect(fake.asked.map(({ LanguageCode }) => LanguageCode)).toEqual(['es', 'en']);
  });

  it('leaves the types that are to stay', async () => {
    fake.find = { DATE_TIME: /today/g, NAME: /Ann/g };
    expect(await redact(['Ann, today'])).toEqual(['[NAME], [DATE]']);
    expect(await redact(['Ann, today'], { keepTypes: ['DATE_TIME'] })).toEqual(['[NAME], today']);
  });

  it('counts code points, so that emoji before a name shift nothing', async () => {
    fake.find = { NAME: /Ann/g };
    expect(await redact(['😀👩‍👧 Ann 😀', 'Ann \ud83d'])).toEqual(['😀👩‍👧 [NAME] 😀', '[NAME] \ud83d']);
    expect(fake.asked.every(({ Text }) => Text.isWellFormed())).toBe(true);
  });

  it('is asked once for short texts, and once for the same text', async () => {
    fake.find = { NAME: /Ann/g };
    const texts = Array.from({ length: 200 }, (_, index) => `Ann ${index % 50}`);
    expect(await redact(texts)).toEqual(texts.map((text) => text.replace('Ann', '[NAME]')));
    expect(fake.asked).toHaveLength(1);
    expect(fake.asked[0]!.Text.match(/Ann/g)).toHaveLength(50);
  });

  it('is not asked where there is nothing to read', async () => {
    expect(await redact(['', ' \n', '--', '😀'])).toEqual(['', ' \n', '--', '😀']);
    expect(await redact([])).toEqual([]);
    expect(fake.asked).toEqual([]);
  });

  it('is given a long text in pieces under its limit, and finds the names on every border', async () => {
    fake.find = { NAME: /Ann Example/g };
    const text = 'Ann Example 漢字 '.repeat(30_000);
    expect(await redact([text, 'by Ann Example'])).toEqual(['[NAME] 漢字 '.repeat(30_000), 'by [NAME]']);
    expect(fake.asked.length).toBeGreaterThan(5);
    for (const { Text } of fake.asked) expect(Buffer.byteLength(Text)).toBeLessThanOrEqual(MAX_PASSAGE_BYTES);
    expect(fake.mostAtOnce).toBeLessThanOrEqual(4);
  });

  it('is asked again when it throttles or fails', async () => {
    fake.find = { NAME: /Ann/g };
    fake.next.push(error(400, 'ThrottlingException'), error(500, 'InternalServerException'));
    expect(await redact(['Ann'])).toEqual(['[NAME]']);
    expect(fake.asked).toHaveLength(3);
  });
});

describe('when Comprehend does not answer as it should, nothing is answered', () => {
  const secret = 'Ann Example, a@b.io';

  it.each<[string, Answer, string, boolean]>([
    ['throttled', error(400, 'ThrottlingException'), 'throttled', true],
    ['too many requests', error(429, 'TooManyRequestsException'), 'throttled', true],
    ['an outage', error(500, 'InternalServerException'), 'unavailable', true],
    ['no permission', error(400, 'AccessDeniedException'), 'configuration', false],
    ['a language it does not know', error(400, 'UnsupportedLanguageException'), 'configuration', false],
    ['no entities', { body: {} }, 'invalid-answer', true],
    [
      'an entity outside its text',
      entities({ Type: 'NAME', BeginOffset: 0, EndOffset: 999 }),
      'invalid-answer',
      true,
    ],
    [
      'an entity without a place',
      entities({ Type: 'NAME', BeginOffset: 3, EndOffset: 3 }),
      'invalid-answer',
      true,
    ],
    [
      'an entity without a begin',
      entities({ Type: 'NAME', BeginOffset: undefined, EndOffset: 3 }),
      'invalid-answer',
      true,
    ],
    ['no JSON', { body: 'oops' }, 'unavailable', true],
  ])('%s', async (_, answer, reason, retryable) => {
    fake.always = answer;
    const failure = await redact([secret]).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ tag: 'RedactionUnavailable', reason, retryable });
    const { message, stack, cause } = failure as Error;
    expect(`${message} ${stack} ${JSON.stringify(failure)} ${String(cause)}`).not.toContain('Example');
  });

  it('a service that is not there', async () => {
    await fake.stop();
    await expect(redact([secret])).rejects.toMatchObject({ reason: 'unavailable', retryable: true });
    fake = await startComprehend();
  });

  it('one of many pieces fails', async () => {
    fake.next.push({ body: { Entities: [] } }, error(400, 'AccessDeniedException'));
    await expect(redact(['Ann Example '.repeat(15_000)])).rejects.toMatchObject({ reason: 'configuration' });
  });
});

function error(status: number, type: string): Answer {
  // Like the service: the error may quote what it was asked.
  return { status, body: { __type: type, message: 'could not read: Ann Example' } };
}

function entities(...all: Entity[]): Answer {
  return { body: { Entities: all } };
}

/** An endpoint that finds what its expressions match, in the offsets that Comprehend documents: code points. */
async function startComprehend() {
  let open = 0;
  const state = {
    url: '',
    asked: [] as Asked[],
    find: {} as Record<string, RegExp>,
    /** Answers for the next requests, before the one for all. */
    next: [] as Answer[],
    always: undefined as Answer | undefined,
    mostAtOnce: 0,
    stop: async () => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer(async (request, response) => {
    open++;
    state.mostAtOnce = Math.max(state.mostAtOnce, open);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    expect(request.headers['x-amz-target']).toBe('Comprehend_20171127.DetectPiiEntities');
    const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Asked;
    state.asked.push(asked);
    const { status = 200, body } = state.next.shift() ?? state.always ?? answer(asked.Text);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
    open--;
  });
  const answer = (text: string): Answer => {
    // UTF-16 index to code point, all at once: texts are long here.
    const counts: number[] = [];
    let count = 0;
    for (const character of text) {
      counts.push(...Array(character.length).fill(count));
      count++;
    }
    const codePointsBefore = (index: number) => counts[index] ?? count;
    return entities(
      ...Object.entries(state.find).flatMap(([Type, pattern]) =>
        Array.from(text.matchAll(pattern), ({ 0: found, index }) => {
          const BeginOffset = codePointsBefore(index);
          return { Type, BeginOffset, EndOffset: BeginOffset + [...found].length };
        }),
      ),
    );
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}
