import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type Artifact, type JsonValue, MAX_JSON_DEPTH, type Message } from '../../shared/protocol/index.ts';
import {
  createPatternRedactor,
  type Redactor,
  redactArtifacts,
  redactContent,
  redactMessage,
  redactMessages,
} from '../../shared/redaction/index.ts';

const redactor = createPatternRedactor();
const options = { words: ['falcon'] };
const message = (given: Partial<Message>): Message => ({
  messageId: 'm-1',
  role: 'ROLE_USER',
  parts: [{ text: 'hello' }],
  ...given,
});
const redactData = async (data: JsonValue) =>
  (await redactMessage(message({ parts: [{ data }] }), redactor, options)).parts[0]?.data;

describe('a message', () => {
  it('is read in text, data, metadata and labels, and keeps its ids', async () => {
    const given = message({
      messageId: 'ann@example.com',
      contextId: 'falcon',
      taskId: '4111111111111111',
      referenceTaskIds: ['falcon'],
      extensions: ['https://falcon.example/ext'],
      metadata: { note: 'to ann@example.com', 'https://falcon.example/ext': 'falcon' },
      parts: [
        {
          text: 'I am ann@example.com',
          filename: 'falcon.txt',
          mediaType: 'text/plain',
          metadata: { by: 'Falcon' },
        },
        { data: { rows: [['10.0.0.1', 1, null, true, { deep: 'falcon' }]] } },
      ],
    });
    expect(await redactMessage(given, redactor, options)).toEqual({
      ...given,
      metadata: { note: 'to [EMAIL]', 'https://falcon.example/ext': '[WORD]' },
      parts: [
        { text: 'I am [EMAIL]', filename: '[WORD].txt', mediaType: 'text/plain', metadata: { by: '[WORD]' } },
        { data: { rows: [['[IP]', 1, null, true, { deep: '[WORD]' }]] } },
      ],
    });
  });

  it('is not changed itself', async () => {
    const given = message({ parts: [{ data: { to: ['ann@example.com'] } }], metadata: { a: 'falcon' } });
    const before = structuredClone(given);
    await redactMessage(given, redactor, options);
    expect(given).toEqual(before);
  });

  it('names the file of a part that cannot be read, and says neither its bytes nor its address', async () => {
    const raw = Buffer.from('secret bytes').toString('base64');
    const { parts } = await redactMessage(
      message({
        parts: [
          { raw, filename: 'falcon.pdf', mediaType: 'application/pdf', metadata: { by: 'falcon' } },
          { raw },
          { url: 'https://files.example/x?sig=abc', filename: 'plan.png', mediaType: 'image/png' },
          { url: 'data:text/plain,hello' },
        ],
      }),
      redactor,
      options,
    );
    expect(parts).toEqual([
      { text: 'Not kept: file [WORD].pdf (application/pdf)', metadata: { by: '[WORD]' } },
      { text: 'Not kept: file without a name (media type unknown)' },
      { text: 'Not kept: file plan.png (image/png)' },
      { text: 'Not kept: file without a name (media type unknown)' },
    ]);
  });
});

it('an artifact is read in name and description too, and keeps an id in which nothing is found', async () => {
  const artifact: Artifact = {
    artifactId: 'report-7',
    name: 'About Falcon',
    description: 'for ann@example.com',
    extensions: ['https://plain.example/ext'],
    metadata: { falcon: 1, 'https://plain.example/ext': 1 },
    parts: [{ text: 'falcon' }],
  };
  expect(await redactArtifacts([artifact], redactor, options)).toEqual([
    {
      ...artifact,
      name: 'About [WORD]',
      description: 'for [EMAIL]',
      metadata: { '[WORD]': 1, 'https://plain.example/ext': 1 },
      parts: [{ text: '[WORD]' }],
    },
  ]);
});

describe('what an agent chose as the id of an artifact', () => {
  const ids = async (...artifactIds: string[]) => {
    const given = artifactIds.map((artifactId) => ({ artifactId, parts: [{ text: 't' }] }));
    const once = await redactArtifacts(given, redactor, options);
    // The same on every path, and when what was redacted is redacted again.
    expect(await redactArtifacts(given, redactor, options)).toEqual(once);
    expect(await redactArtifacts(once, redactor, options)).toEqual(once);
    return once.map(({ artifactId }) => artifactId);
  };

  it('gives way to one that tells its place where something is found in it', async () => {
    expect(await ids('jane@example.com', 'b', 'falcon')).toEqual(['artifact-1', 'b', 'artifact-3']);
  });

  it('never becomes the id of another', async () => {
    expect(await ids('a@b.io', 'artifact-1', 'c@d.io')).toEqual(['artifact-1-', 'artifact-1', 'artifact-3']);
  });

  it('stays if the gateway made it, whatever its digits are', async () => {
    const id = 'd4ec6813-8060-4557-9902-157b3ce0eb98';
    expect(await ids(id)).toEqual([id]);
  });
});

describe('extension URIs', () => {
  const declared = {
    extensions: ['https://x.example/?to=ann@example.com', 'https://plain.example/ext'],
    metadata: { 'https://x.example/?to=ann@example.com': 'hello' },
  };

  it('of an agent are left out where something is found in them, as names in the metadata too', async () => {
    const redacted = {
      extensions: ['https://plain.example/ext'],
      metadata: { 'https://x.example/?to=[EMAIL]': 'hello' },
    };
    const artifact: Artifact = { artifactId: 'a', parts: [{ text: 't' }], ...declared };
    expect(await redactArtifacts([artifact], redactor, options)).toEqual([{ ...artifact, ...redacted }]);
    const spoken = message({ role: 'ROLE_AGENT', ...declared });
    expect(await redactMessage(spoken, redactor, options)).toEqual({ ...spoken, ...redacted });
    const only = { ...spoken, extensions: declared.extensions.slice(0, 1) };
    expect(await redactMessage(only, redactor, options)).not.toHaveProperty('extensions');
  });

  it('of the client stay its own', async () => {
    expect(await redactMessage(message(declared), redactor, options)).toEqual(message(declared));
  });
});

describe('data', () => {
  it.each<[string, JsonValue, JsonValue]>([
    ['a bare string', 'falcon', '[WORD]'],
    ['an empty value', { password: '', a: [], b: {} }, { password: '', a: [], b: {} }],
    [
      'a secret by its name',
      { dbPassword: 'x', 'x-api-key': 'y', Authorization: 'z' },
      { dbPassword: '[SECRET]', 'x-api-key': '[SECRET]', Authorization: '[SECRET]' },
    ],
    [
      'secrets in a list and as a number',
      { secret: ['a', ['b']], pin: 1234 },
      { secret: ['[SECRET]', ['[SECRET]']], pin: '[SECRET]' },
    ],
    [
      'what is no secret',
      { password: null, token: true, maxTokens: 512, shipping: 'x' },
      { password: null, token: true, maxTokens: 512, shipping: 'x' },
    ],
    [
      'all below a secret name',
      { credentials: { user: 'bob', on: true, deep: [{ n: 7, none: null }] }, password: { value: 'X' } },
      {
        credentials: { user: '[SECRET]', on: true, deep: [{ n: '[SECRET]', none: null }] },
        password: { value: '[SECRET]' },
      },
    ],
    [
      'a secret by its name, however that is written',
      {
        ...{ passwords: ['x'], secrets: { a: 'x' }, apiKeys: 'x', API_KEYS: 'x', 'api-key-value': 'x' },
        ...{ passwordValue: 'x', password_value: 'x', passwordText: 'x', newPassword2: 'x', passwd: 'x' },
        ...{ pw: 'x', dbPw: 'x', pin: 'x', cardPin: 1, userPass: 'x', motDePasse: 'x', Passwort: 'x' },
        ...{ secretString: 'x', connectionString: 'x', privateKeyPem: 'x', verification_codes: 'x', cvv2: 1 },
      },
      {
        ...{ passwords: ['[SECRET]'], secrets: { a: '[SECRET]' }, apiKeys: '[SECRET]', API_KEYS: '[SECRET]' },
        ...{ 'api-key-value': '[SECRET]', passwordValue: '[SECRET]', password_value: '[SECRET]' },
        ...{ passwordText: '[SECRET]', newPassword2: '[SECRET]', passwd: '[SECRET]', pw: '[SECRET]' },
        ...{ dbPw: '[SECRET]', pin: '[SECRET]', cardPin: '[SECRET]', userPass: '[SECRET]' },
        ...{ motDePasse: '[SECRET]', Passwort: '[SECRET]', secretString: '[SECRET]' },
        ...{ connectionString: '[SECRET]', privateKeyPem: '[SECRET]', verification_codes: '[SECRET]' },
        ...{ cvv2: '[SECRET]' },
      },
    ],
    [
      'a value whose name stands beside it',
      [
        { name: 'DB_PASSWORD', value: 'x' },
        { type: 'phone', number: 612345678 },
        { name: 'color', value: 'x' },
      ],
      [
        { name: 'DB_PASSWORD', value: '[SECRET]' },
        { type: 'phone', number: '[PHONE]' },
        { name: 'color', value: 'x' },
      ],
    ],
    [
      'tokens, unless they are counted',
      { accessTokens: ['x'], usage: { inputTokens: 7, tokens: { total: 9 } } },
      { accessTokens: ['[SECRET]'], usage: { inputTokens: 7, tokens: { total: 9 } } },
    ],
    [
      'what only sounds secret',
      {
        ...{ value: 'x', secretary: 'x', tokenCount: 3, tokenType: 'x', passwordPolicy: 'x', compass: 'x' },
        ...{ spin: 5, bypass: 'x', secretArn: 'x', keys: ['x'], authorName: 'x', text: { value: 'x' } },
      },
      {
        ...{ value: 'x', secretary: 'x', tokenCount: 3, tokenType: 'x', passwordPolicy: 'x', compass: 'x' },
        ...{ spin: 5, bypass: 'x', secretArn: 'x', keys: ['x'], authorName: 'x', text: { value: 'x' } },
      },
    ],
    [
      'telephone numbers by names of many words',
      {
        ...{ phoneNumbers: [612345678, '555 12 34'], phone_number: '612345678', contact: 491711234567 },
        ...{ 'work-phone-2': '612345678', phone: { home: '612345678', id: 612345678 }, hotel: 61234567 },
      },
      {
        ...{ phoneNumbers: ['[PHONE]', '[PHONE]'], phone_number: '[PHONE]', contact: '[PHONE]' },
        ...{ 'work-phone-2': '[PHONE]', phone: { home: '[PHONE]', id: 612345678 }, hotel: 61234567 },
      },
    ],
    [
      'a telephone number by its name',
      { mobilePhone: '4155550123', phone: 4155550123, tel: 'none' },
      { mobilePhone: '[PHONE]', phone: '[PHONE]', tel: 'none' },
    ],
    [
      'a number that is a finding',
      { card: 4111111111111111, n: 1700000000000, f: 0.4111111111111111 },
      { card: '[CARD]', n: 1700000000000, f: 0.4111111111111111 },
    ],
    [
      'names of members',
      { 'ann@example.com': 1, 'bob@example.com': { falcon: 2 } },
      { '[EMAIL]': 1, '[EMAIL] 2': { '[WORD]': 2 } },
    ],
    [
      'names that collide with what stands there',
      { '[EMAIL] 2': 0, 'a@b.io': 1, 'c@d.io': 2 },
      { '[EMAIL] 2': 0, '[EMAIL]': 1, '[EMAIL] 3': 2 },
    ],
    [
      'a member named like a prototype',
      JSON.parse('{"__proto__":"falcon"}'),
      JSON.parse('{"__proto__":"[WORD]"}'),
    ],
  ])('is redacted: %s', async (_, data, redacted) => {
    const answer = await redactData(data);
    expect(JSON.stringify(answer)).toBe(JSON.stringify(redacted));
    expect(JSON.stringify(await redactData(answer ?? null))).toBe(JSON.stringify(redacted));
  });

  it('as deep as the protocol allows is read, and what lies deeper is withheld', async () => {
    const nest = (levels: number) => {
      let value: JsonValue = 'falcon';
      for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    };
    expect(JSON.stringify(await redactData(nest(MAX_JSON_DEPTH)))).toContain('[WORD]');
    expect(JSON.stringify(await redactData(nest(MAX_JSON_DEPTH + 1)))).toContain('[TEXT]');
    expect(JSON.stringify(await redactData(nest(100_000)))).not.toContain('falcon');
  });

  it('keeps a marker nowhere, however it is nested, and its shape where nothing was found', async () => {
    const planted = 'ann@example.com';
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as JsonValue;
        const data: JsonValue = { around: plain, [planted]: [{ [`x ${planted}`]: `${planted} y`, plain }] };
        expect(JSON.stringify(await redactData(data))).not.toContain(planted);
      }),
      { numRuns: 500 },
    );
  });
});

it('calls the redactor once for all that it is given, and not at all for nothing', async () => {
  const redactTexts = vi.fn<Redactor['redactTexts']>(async (texts) =>
    texts.map((text) => text.toUpperCase()),
  );
  const spy = { redactTexts };
  const artifact: Artifact = { artifactId: 'a', name: 'n', parts: [{ text: 't' }, { data: { k: ['v'] } }] };
  const redacted = await redactContent(
    { messages: [message({}), message({})], artifacts: [artifact] },
    spy,
    options,
  );
  expect(redactTexts.mock.calls).toEqual([[['hello', 'hello', 'a', 'n', 't', 'k', 'v'], options]]);
  expect(redacted).toEqual({
    messages: [message({ parts: [{ text: 'HELLO' }] }), message({ parts: [{ text: 'HELLO' }] })],
    artifacts: [{ artifactId: 'artifact-1', name: 'N', parts: [{ text: 'T' }, { data: { K: ['V'] } }] }],
  });
  expect(await redactMessages([], spy, options)).toEqual([]);
  expect(redactTexts).toHaveBeenCalledTimes(1);
});

it('fails, and answers nothing, when the redactor fails or loses a text', async () => {
  const lost: Redactor = { redactTexts: async () => [] };
  await expect(redactMessage(message({}), lost, options)).rejects.toMatchObject({
    tag: 'RedactionUnavailable',
    reason: 'invalid-answer',
    retryable: true,
  });
  const failing: Redactor = { redactTexts: () => Promise.reject(new Error('down')) };
  await expect(
    redactArtifacts([{ artifactId: 'a', parts: [{ text: 't' }] }], failing, options),
  ).rejects.toThrow('down');
});
