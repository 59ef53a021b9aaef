import { beforeEach, describe, expect, it } from 'vitest';
import { authenticate, CACHE_MS } from '../../shared/registry/index.ts';
import { StoreUnavailable } from '../../shared/storage/index.ts';
import { ADA, createInstallation, type Installation } from './installation.ts';

const echo = { id: 'echo', kind: 'echo' };
const profile = { id: 'writer', name: 'Writer', description: 'Writes.', providers: ['echo'] };

let gateway: Installation;
beforeEach(() => {
  gateway = createInstallation();
});

const put = (provider: object) => gateway.run('provider.put', { provider });
const putProfile = (change: object = {}) =>
  gateway.run('profile.put', { profile: { ...profile, ...change } });
const kindOf = async (token: unknown) =>
  (await authenticate(`Bearer ${token}`, (id) => gateway.registry.client(id))).kind;
const clientOf = (answer: Record<string, unknown>) => answer['client'] as Record<string, unknown>;

describe('a client', () => {
  it('gets a token once, that opens the gateway, and is listed without it', async () => {
    const added = await gateway.run('client.add', { name: 'Acme' });
    expect(clientOf(added)).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{10}$/),
      name: 'Acme',
      disabled: false,
      profiles: [],
      tokens: [{ createdAt: '2026-11-30T00:00:00.000Z' }],
      createdAt: '2026-11-30T00:00:00.000Z',
    });
    expect(await kindOf(added['token'])).toBe('client');
    const listed = await gateway.run('client.list');
    expect(listed).toEqual({ clients: [clientOf(added)] });
    expect(JSON.stringify(listed)).not.toMatch(/hash|sp_/);
  });

  it('that is disabled is refused at once, and let in again once enabled', async () => {
    const { token } = await gateway.run('client.add', { id: 'acme1', name: 'Acme' });
    expect(await kindOf(token)).toBe('client');
    await gateway.run('client.disable', { id: 'acme1' });
    expect(await kindOf(token)).toBe('unauthenticated');
    await gateway.run('client.enable', { id: 'acme1' });
    expect(await kindOf(token)).toBe('client');
  });

  it('changes its token without a gap', async () => {
    const first = (await gateway.run('client.add', { id: 'acme1', name: 'Acme' }))['token'];
    expect((await gateway.run('client.rotate', { id: 'acme1', dropOld: true }))['error']).toMatchObject({
      code: 'REFUSED',
    });
    const second = (await gateway.run('client.rotate', { id: 'acme1' }))['token'];
    expect([await kindOf(first), await kindOf(second)]).toEqual(['client', 'client']);
    expect((await gateway.run('client.rotate', { id: 'acme1' }))['error']).toMatchObject({
      code: 'REFUSED',
      message: expect.stringContaining('two tokens'),
    });
    const dropped = await gateway.run('client.rotate', { id: 'acme1', dropOld: true });
    expect(dropped).not.toHaveProperty('token');
    expect([await kindOf(first), await kindOf(second)]).toEqual(['unauthenticated', 'client']);
  });

  it('is granted what exists, and is left with what was not revoked', async () => {
    await putProfile();
    await putProfile({ id: 'reader' });
    await gateway.run('client.add', { id: 'acme1', name: 'Acme', profiles: ['writer'] });
    const granted = await gateway.run('client.grant', { id: 'acme1', profiles: ['reader', 'writer', '*'] });
    expect(clientOf(granted)['profiles']).toEqual(['writer', 'reader', '*']);
    const revoked = await gateway.run('client.revoke', { id: 'acme1', profiles: ['writer', '*'] });
    expect(clientOf(revoked)['profiles']).toEqual(['reader']);
  });

  it('keeps every grant of two administrators who act at once', async () => {
    await putProfile();
    await putProfile({ id: 'reader' });
    await gateway.run('client.add', { id: 'acme1', name: 'Acme' });
    await Promise.all([
      gateway.run('client.grant', { id: 'acme1', profiles: ['writer'] }),
      gateway.run('client.grant', { id: 'acme1', profiles: ['reader'] }),
    ]);
    const profiles = (await gateway.registry.client('acme1'))?.profiles ?? [];
    expect([...profiles].sort()).toEqual(['reader', 'writer']);
  });
});

describe('a profile', () => {
  it('is published once it has a provider and can keep a result, and is not in the file', async () => {
    await put(echo);
    expect(await putProfile()).toMatchObject({ profile: { published: false, edition: 1 }, warnings: [] });
    expect(await gateway.run('profile.publish', { id: 'writer' })).toMatchObject({
      profile: { published: true },
    });
    expect(await putProfile({ name: 'Writer 2' })).toMatchObject({
      profile: { published: true, name: 'Writer 2' },
    });
    expect(await gateway.run('profile.unpublish', { id: 'writer' })).toMatchObject({
      profile: { published: false },
    });
  });

  it('is saved before its providers, with a warning', async () => {
    expect((await putProfile({ providers: ['echo', 'later'] }))['warnings']).toEqual([
      'providers[0]: there is no provider "echo"',
      'providers[1]: there is no provider "later"',
    ]);
  });

  it('tells which later provider would keep no result', async () => {
    await put(echo);
    await put({ ...echo, id: 'quiet', answerLevel: 'metadata' });
    expect((await putProfile({ providers: ['echo', 'quiet'] }))['warnings']).toEqual([
      expect.stringMatching(/^providers\[1\]: .*"quiet"/),
    ]);
    expect(await gateway.run('profile.publish', { id: 'writer' })).toHaveProperty('profile');
  });

  const refusals: [string, () => Promise<unknown>, string, string][] = [
    ['has no provider', () => putProfile({ providers: [] }), 'providers', 'needs at least one'],
    [
      'has an unknown provider',
      () => putProfile({ providers: ['echo', 'gone'] }),
      'providers[1]',
      'no provider "gone"',
    ],
    [
      'keeps metadata itself',
      () => putProfile({ answerLevel: 'metadata' }),
      'answerLevel',
      "the profile's answer level is metadata",
    ],
    [
      'keeps nothing itself',
      () => putProfile({ answerLevel: 'none' }),
      'answerLevel',
      "the profile's answer level is none",
    ],
    [
      'has a first provider that keeps metadata',
      async () => {
        await put({ ...echo, answerLevel: 'metadata' });
        await putProfile();
      },
      'answerLevel',
      'the answer level of provider "echo" is metadata',
    ],
    [
      'stands in an installation that keeps nothing',
      async () => {
        await putProfile();
        await gateway.run('settings.set', { settings: { answerLevel: 'none' } });
      },
      'answerLevel',
      "the installation's answer level is none",
    ],
  ];
  it.each(refusals)(
    'that %s cannot be published, and the refusal says why',
    async (_what, prepare, field, why) => {
      await put(echo);
      await prepare();
      const { error } = await gateway.run('profile.publish', { id: 'writer' });
      expect(error).toMatchObject({
        code: 'REFUSED',
        field,
        status: 422,
        message: expect.stringContaining(why),
      });
      expect((await gateway.registry.profile('writer'))?.published).toBe(false);
    },
  );

  it('that is published cannot be saved in a form that cannot be', async () => {
    await put(echo);
    await putProfile();
    await gateway.run('profile.publish', { id: 'writer' });
    expect(await putProfile({ answerLevel: 'none' })).toMatchObject({
      error: { code: 'REFUSED', field: 'answerLevel' },
    });
    expect(await putProfile({ providers: [] })).toMatchObject({
      error: { code: 'REFUSED', field: 'providers' },
    });
    expect(await putProfile({ answerLevel: 'redacted' })).toHaveProperty('profile');
  });

  it('is named when a provider or the settings leave it without a result to keep', async () => {
    await put(echo);
    await putProfile();
    await gateway.run('profile.publish', { id: 'writer' });
    expect((await put({ ...echo, answerLevel: 'none' }))['warnings']).toEqual([
      expect.stringContaining('"writer"'),
    ]);
    await put(echo);
    const { warnings } = await gateway.run('settings.set', { settings: { answerLevel: 'none' } });
    expect(warnings).toEqual([expect.stringContaining('"writer"')]);
  });

  it('is not overwritten by who read an older edition and says so', async () => {
    await putProfile();
    await putProfile({ name: 'Theirs' });
    const mine = await gateway.run('profile.put', { profile: { ...profile, name: 'Mine' }, ifEdition: 1 });
    expect(mine['error']).toMatchObject({ code: 'CONFLICT', status: 409 });
    expect((await gateway.registry.profile('writer'))?.name).toBe('Theirs');
    expect(
      await gateway.run('profile.put', { profile: { ...profile, name: 'Mine' }, ifEdition: 2 }),
    ).toHaveProperty('profile');
  });
});

describe("a provider's key", () => {
  const openai = { id: 'model', kind: 'openai', baseUrl: 'https://models.example.com/v1', model: 'm' };
  const key = 'sk-live-0123456789';
  const stored = async () => {
    gateway.clock.advance(CACHE_MS);
    const provider = await gateway.registry.provider('model');
    return provider?.kind === 'openai' && provider.apiKey
      ? gateway.secrets.open('model', provider.apiKey)
      : undefined;
  };

  it('is sealed, shown as ***, and opens for the run', async () => {
    expect(await put({ ...openai, apiKey: key })).toMatchObject({ provider: { apiKey: '***' } });
    expect(await gateway.run('provider.list')).toMatchObject({ providers: [{ id: 'model', apiKey: '***' }] });
    expect(await stored()).toBe(key);
    expect(gateway.dump()).not.toContain(key);
  });

  it('is kept where the file says *** and dropped where it says nothing', async () => {
    await put({ ...openai, apiKey: key });
    expect(await put({ ...openai, model: 'm2', apiKey: '***' })).toMatchObject({
      provider: { model: 'm2', apiKey: '***' },
    });
    expect(await stored()).toBe(key);
    expect((await put(openai))['provider']).not.toHaveProperty('apiKey');
    expect(await stored()).toBeUndefined();
  });

  it('cannot be kept where there is none', async () => {
    const nothing = { code: 'REFUSED', field: 'apiKey', message: expect.stringContaining('no stored key') };
    expect(await put({ ...openai, apiKey: '***' })).toMatchObject({ error: nothing });
    await put({ ...echo, id: 'model' });
    expect(await put({ ...openai, apiKey: '***' })).toMatchObject({ error: nothing });
  });

  it('is not carried to another base URL by who does not know it', async () => {
    await put({ ...openai, apiKey: key });
    expect(
      await put({ ...openai, baseUrl: 'https://elsewhere.example.com/v1', apiKey: '***' }),
    ).toMatchObject({
      error: { code: 'REFUSED', field: 'apiKey' },
    });
    expect(await put({ ...openai, baseUrl: 'https://models.example.com/v2', apiKey: '***' })).toHaveProperty(
      'provider',
    );
  });
});

describe('settings', () => {
  it('change one by one, show what was set, and go back to their default', async () => {
    expect(await gateway.run('settings.show')).toMatchObject({
      settings: { maxParts: 100, answerLevel: 'metadata' },
      set: [],
    });
    await gateway.run('settings.set', { settings: { maxParts: 7 } });
    expect(await gateway.run('settings.set', { settings: { streaming: false } })).toMatchObject({
      settings: { maxParts: 7, streaming: false },
      set: ['maxParts', 'streaming'],
      changed: ['streaming'],
    });
    expect(await gateway.run('settings.set', { settings: { maxParts: null } })).toMatchObject({
      settings: { maxParts: 100 },
      set: ['streaming'],
    });
  });

  it('of two administrators at once are both kept', async () => {
    await Promise.all([
      gateway.run('settings.set', { settings: { maxParts: 7 } }),
      gateway.run('settings.set', { settings: { openTasks: 8 } }),
    ]);
    expect(await gateway.registry.settings()).toMatchObject({ maxParts: 7, openTasks: 8 });
  });

  it('name a default profile that exists', async () => {
    const set = () => gateway.run('settings.set', { settings: { defaultProfile: 'writer' } });
    expect(await set()).toMatchObject({ error: { code: 'REFUSED', field: 'defaultProfile' } });
    await putProfile();
    expect(await set()).toMatchObject({ settings: { defaultProfile: 'writer' } });
  });
});

describe('wrong input names the field', () => {
  const cases: [string, object, string, string, string][] = [
    ['client.drop', {}, 'UNKNOWN_OPERATION', 'operation', 'client.add, client.disable'],
    ['__proto__', {}, 'UNKNOWN_OPERATION', 'operation', 'no such operation'],
    ['client.add', {}, 'INVALID', 'name', 'name: is missing'],
    ['client.add', { name: 'A', token: 'x' }, 'INVALID', 'token', 'token: is not a known field'],
    ['client.add', { name: 'A', id: 'taken' }, 'EXISTS', 'id', 'a client "taken" already'],
    ['client.add', { name: 'A', profiles: ['*', 'gone'] }, 'REFUSED', 'profiles[1]', 'no profile "gone"'],
    ['client.list', { all: true }, 'INVALID', 'all', 'all: is not a known field'],
    ['client.disable', {}, 'INVALID', 'id', 'id: is missing'],
    ['client.disable', { id: 'gone' }, 'NOT_FOUND', 'id', 'no client "gone"'],
    ['client.enable', { id: '../x' }, 'NOT_FOUND', 'id', 'no client "../x"'],
    [
      'client.rotate',
      { id: 'taken', dropOld: 'yes' },
      'INVALID',
      'dropOld',
      'dropOld: must be true or false',
    ],
    ['client.rotate', { id: 'gone' }, 'NOT_FOUND', 'id', 'no client "gone"'],
    ['client.grant', { id: 'taken' }, 'INVALID', 'profiles', 'profiles: is missing'],
    [
      'client.grant',
      { id: 'taken', profiles: [] },
      'INVALID',
      'profiles',
      'profiles: must name at least one',
    ],
    ['client.grant', { id: 'taken', profiles: ['gone'] }, 'REFUSED', 'profiles[0]', 'no profile "gone"'],
    ['client.grant', { id: 'gone', profiles: ['*'] }, 'NOT_FOUND', 'id', 'no client "gone"'],
    ['client.revoke', { id: 'taken', profiles: ['*', 'a'] }, 'REFUSED', 'profiles[0]', '"*" is not granted'],
    ['profile.put', {}, 'INVALID', 'profile', 'profile: is missing'],
    [
      'profile.put',
      { profile: { ...profile, providers: [1] } },
      'INVALID',
      'providers[0]',
      'providers[0]: must be a string',
    ],
    ['profile.put', { profile, ifEdition: 0 }, 'INVALID', 'ifEdition', 'ifEdition: must be at least 1'],
    ['profile.publish', { id: 'gone' }, 'NOT_FOUND', 'id', 'no profile "gone"'],
    ['profile.unpublish', { id: 'A b' }, 'NOT_FOUND', 'id', 'no profile "A b"'],
    ['provider.put', { provider: { id: 'x' } }, 'INVALID', 'kind', 'kind: is missing'],
    ['provider.put', { provider: echo, ifEdition: 3 }, 'CONFLICT', '', 'came first'],
    ['settings.set', {}, 'INVALID', 'settings', 'settings: is missing'],
    ['settings.set', { settings: { maxPart: 1 } }, 'INVALID', 'maxPart', 'maxPart: is not a known field'],
    ['settings.set', { settings: { maxParts: 0 } }, 'INVALID', 'maxParts', 'maxParts: must be at least 1'],
    ['task.show', {}, 'INVALID', 'id', 'id: is missing'],
    ['task.show', { id: 'gone' }, 'NOT_FOUND', 'id', 'no task "gone"'],
    ['task.rebuild', { id: 'gone' }, 'NOT_FOUND', 'id', 'no task "gone"'],
    ['task.repair', { id: 'x' }, 'INVALID', 'id', 'id: is not a known field'],
  ];

  it.each(cases)('%s %j', async (operation, input, code, field, message) => {
    await gateway.run('client.add', { name: 'Taken', id: 'taken' });
    const { error } = await gateway.run(operation, input);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message), ...(field && { field }) });
    if (!field) expect(error).not.toHaveProperty('field');
  });

  it.each([null, 3, 'x', []])('arguments that are no object: %j', async (input) => {
    const answer = await gateway.admin.execute('client.add', input, ADA);
    expect(answer).toMatchObject({ kind: 'failed', failure: { kind: 'invalid' } });
  });
});

describe('the audit', () => {
  const key = 'sk-live-0123456789';
  const openai = {
    id: 'model',
    kind: 'openai',
    baseUrl: 'https://models.example.com/v1',
    model: 'm',
    apiKey: key,
  };

  it('has one entry with its actor for every change, and no secret stands in it, in the store or in an answer', async () => {
    const steps: [string, object, readonly string[] | undefined][] = [
      ['provider.put', { provider: echo }, ['id', 'kind', 'timeoutSeconds']],
      [
        'provider.put',
        { provider: openai },
        ['apiKey', 'baseUrl', 'id', 'kind', 'model', 'timeoutSeconds', 'trustedHosts'],
      ],
      ['provider.put', { provider: { ...openai, apiKey: `${key}-2` } }, ['apiKey']],
      [
        'profile.put',
        { profile: { ...profile, instructions: 'Private words.' } },
        expect.arrayContaining(['instructions', 'name']) as never,
      ],
      ['profile.publish', { id: 'writer' }, ['published']],
      ['profile.unpublish', { id: 'writer' }, ['published']],
      [
        'client.add',
        { id: 'acme1', name: 'Acme' },
        ['createdAt', 'disabled', 'id', 'name', 'profiles', 'tokens'],
      ],
      ['client.disable', { id: 'acme1' }, ['disabled']],
      ['client.enable', { id: 'acme1' }, ['disabled']],
      ['client.grant', { id: 'acme1', profiles: ['writer'] }, ['profiles']],
      ['client.revoke', { id: 'acme1', profiles: ['writer'] }, ['profiles']],
      ['client.rotate', { id: 'acme1' }, ['tokens']],
      ['client.rotate', { id: 'acme1', dropOld: true }, ['tokens']],
      ['settings.set', { settings: { maxParts: 7 } }, ['maxParts']],
      ['task.rebuild', { id: 'known' }, undefined],
      ['task.repair', {}, undefined],
    ];
    const tokens: string[] = [];
    for (const [index, [operation, input, changed]] of steps.entries()) {
      const answer = await gateway.run(operation, input, `${ADA}-${index}`);
      expect(answer, operation).not.toHaveProperty('error');
      if (typeof answer['token'] === 'string') {
        tokens.push(answer['token']);
        // Shown this once; what follows must not show it again.
        gateway.answers.pop();
      }
      expect(gateway.audits(), operation).toHaveLength(index + 1);
      const entry = gateway.audits().find((item) => item['actor'] === `${ADA}-${index}`);
      expect(entry).toMatchObject({ operation, at: gateway.clock.now(), v: 1 });
      expect(entry?.['changed']).toEqual(changed);
    }
    for (const operation of ['client.list', 'profile.list', 'provider.list', 'settings.show'])
      expect(await gateway.run(operation)).not.toHaveProperty('error');
    expect(await gateway.run('task.show', { id: 'known' })).toMatchObject({ revision: 2 });
    expect(gateway.audits()).toHaveLength(steps.length);

    expect(tokens).toHaveLength(2);
    for (const secret of [key, ...tokens, ...tokens.map((token) => token.slice('sp_acme1_'.length))]) {
      expect(gateway.dump()).not.toContain(secret);
      expect(JSON.stringify(gateway.answers)).not.toContain(secret);
    }
    expect(JSON.stringify(gateway.audits())).not.toMatch(/Private words|Acme/);
  });

  it('has no entry for a refusal', async () => {
    await gateway.run('client.disable', { id: 'gone' });
    await putProfile({ answerLevel: 'none' });
    await gateway.run('profile.publish', { id: 'writer' });
    expect(gateway.audits()).toHaveLength(1);
  });
});

describe('an installation that does not answer', () => {
  it('is told as an unknown outcome, and no other fault is hidden', async () => {
    gateway.store.transact = async () => {
      throw new StoreUnavailable('a transaction');
    };
    expect(await gateway.run('client.add', { name: 'A' })).toMatchObject({
      error: { code: 'OUTCOME_UNKNOWN', status: 503 },
    });
    gateway.store.transact = async () => {
      throw new TypeError('a fault of ours');
    };
    await expect(gateway.run('client.add', { name: 'A' })).rejects.toThrow('a fault of ours');
  });
});
