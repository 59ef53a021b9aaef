import { execFile } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdminEndpoint, startAdminEndpoint } from './admin-endpoint.ts';

const key = 'sk-live-0123456789';
const echoFile = 'id: echo\nkind: echo\n';
const profileFile = 'id: writer\nname: Writer\ndescription: Writes.\nproviders: [echo]\n';
const openaiFile = `id: model\nkind: openai\nbaseUrl: https://models.example.com/v1\nmodel: m\n`;

let endpoint: AdminEndpoint;
beforeEach(async () => {
  endpoint = await startAdminEndpoint();
});
afterEach(() => endpoint[Symbol.asyncDispose]());

const run = (line: string, change?: Parameters<AdminEndpoint['run']>[1]) =>
  endpoint.run([...line.split(' '), '--data', 'data'], change);
const json = async (line: string, change?: Parameters<AdminEndpoint['run']>[1]) => {
  const { code, out, err } = await run(`${line} --json`, change);
  expect(err).toBe('');
  expect(out).toMatch(/^\{.*\}\n$/);
  return { code, value: JSON.parse(out) as Record<string, Record<string, unknown>> };
};

describe('the command line', () => {
  it('walks from an empty gateway to a published profile and a granted client', async () => {
    await json('provider put -', { input: echoFile });
    await json('profile put -', { input: profileFile });
    expect((await json('profile publish writer')).value['profile']).toMatchObject({ published: true });
    const { value } = await json('client add Acme --id acme1 --profile writer');
    expect(value['client']).toMatchObject({ id: 'acme1', profiles: ['writer'] });
    expect(value['token']).toMatch(/^sp_acme1_/);
    expect((await json('client list')).value['clients']).toMatchObject([{ id: 'acme1' }]);
  });

  it.each([
    ['client add Acme --profile a --profile b', 'client.add', { name: 'Acme', profiles: ['a', 'b'] }],
    ['client add Acme --profile a b', 'client.add', { name: 'Acme', profiles: ['a', 'b'] }],
    ['client add Acme --id acme1', 'client.add', { name: 'Acme', id: 'acme1' }],
    ['client list', 'client.list', {}],
    ['client disable acme1', 'client.disable', { id: 'acme1' }],
    ['client enable acme1', 'client.enable', { id: 'acme1' }],
    ['client grant acme1 a *', 'client.grant', { id: 'acme1', profiles: ['a', '*'] }],
    ['client revoke acme1 a', 'client.revoke', { id: 'acme1', profiles: ['a'] }],
    ['client rotate acme1', 'client.rotate', { id: 'acme1' }],
    ['client rotate acme1 --drop-old', 'client.rotate', { id: 'acme1', dropOld: true }],
    ['client webhooks acme1', 'client.webhooks', { id: 'acme1' }],
    ['client webhooks acme1 --port 8443 9443', 'client.webhooks', { id: 'acme1', ports: [8443, 9443] }],
    ['client webhooks acme1 --port many', 'client.webhooks', { id: 'acme1', ports: [null] }],
    [
      'client webhooks acme1 --host a.example.com --host b.example.com --port 443',
      'client.webhooks',
      { id: 'acme1', hosts: ['a.example.com', 'b.example.com'], ports: [443] },
    ],
    ['client webhooks acme1 --any-host', 'client.webhooks', { id: 'acme1', hosts: null }],
    ['profile put -', 'profile.put', { profile: { from: 'input' } }],
    ['profile put - --if-edition 3', 'profile.put', { profile: { from: 'input' }, ifEdition: 3 }],
    ['profile list', 'profile.list', {}],
    ['profile publish writer', 'profile.publish', { id: 'writer' }],
    ['profile unpublish writer', 'profile.unpublish', { id: 'writer' }],
    ['provider put -', 'provider.put', { provider: { from: 'input' } }],
    ['provider put - --secret-env KEY', 'provider.put', { provider: { from: 'input', apiKey: key } }],
    ['provider list', 'provider.list', {}],
    ['settings show', 'settings.show', {}],
    ['settings set -', 'settings.set', { settings: { from: 'input' } }],
    [
      'settings set maxParts=7 streaming=false',
      'settings.set',
      { settings: { maxParts: 7, streaming: false } },
    ],
    [
      'settings set organization=1984 gatewayName=no',
      'settings.set',
      { settings: { organization: '1984', gatewayName: 'no' } },
    ],
    [
      'settings set maxParts= answerLevel=none',
      'settings.set',
      { settings: { maxParts: null, answerLevel: 'none' } },
    ],
    ['settings set maxParts=many', 'settings.set', { settings: { maxParts: 'many' } }],
    ['task show known', 'task.show', { id: 'known' }],
    ['task rebuild known', 'task.rebuild', { id: 'known' }],
    ['task repair', 'task.repair', {}],
    ['audit list', 'audit.list', {}],
    ['audit list --month 2026-11 --limit 3', 'audit.list', { month: '2026-11', limit: 3 }],
    ['push list', 'push.list', {}],
    ['push list --state paused --task t1', 'push.list', { state: 'paused', task: 't1' }],
    ['push show t1/paused1', 'push.show', { config: 't1/paused1' }],
    ['push resume t1/paused1', 'push.resume', { config: 't1/paused1' }],
    ['push retry t1/failed1/3', 'push.retry', { job: 't1/failed1/3' }],
    [
      'agent add far --card https://a.example',
      'agent.add',
      { agent: { id: 'far', cardUrl: 'https://a.example' } },
    ],
    [
      'agent add far --card https://a.example --credential-env KEY --push off --port 8443 9443 --wait 60 --name Far',
      'agent.add',
      {
        agent: {
          id: 'far',
          cardUrl: 'https://a.example',
          credential: key,
          push: 'off',
          allowedPorts: [8443, 9443],
          waitSeconds: 60,
          name: 'Far',
        },
      },
    ],
    [
      'agent add far --card https://a.example --allow-origin https://b.example --trusted-host a.internal b.internal',
      'agent.add',
      {
        agent: {
          id: 'far',
          cardUrl: 'https://a.example',
          allowedOrigins: ['https://b.example'],
          trustedHosts: ['a.internal', 'b.internal'],
        },
      },
    ],
    ['agent add far --file - --push off', 'agent.add', { agent: { from: 'input', push: 'off', id: 'far' } }],
    ['agent list', 'agent.list', {}],
    ['agent show far', 'agent.show', { id: 'far' }],
    ['agent test far', 'agent.test', { id: 'far' }],
    ['agent refresh far', 'agent.refresh', { id: 'far' }],
    ['agent set far --push off', 'agent.set', { id: 'far', push: 'off' }],
    [
      'agent set far --allow-origin https://b.example https://c.example',
      'agent.set',
      { id: 'far', allowedOrigins: ['https://b.example', 'https://c.example'] },
    ],
    ['agent set far --allow-origin none', 'agent.set', { id: 'far', allowedOrigins: [] }],
    ['agent disable far', 'agent.disable', { id: 'far' }],
    ['agent enable far', 'agent.enable', { id: 'far' }],
    ['agent rotate far --credential-env KEY', 'agent.rotate', { id: 'far', credential: key }],
    ['agent rotate far', 'agent.rotate', { id: 'far', credential: '{"from": "input"}' }],
    ['agent remove far', 'agent.remove', { id: 'far' }],
    ['run start far --message hello', 'run.start', { target: 'far', message: 'hello' }],
    ['run start agent:far --message -', 'run.start', { target: 'agent:far', message: '{"from": "input"}' }],
    ['run show run1', 'run.show', { id: 'run1' }],
    ['run reply run1 --message yes', 'run.reply', { id: 'run1', message: 'yes' }],
    ['run cancel run1', 'run.cancel', { id: 'run1' }],
    ['dependency list', 'dependency.list', {}],
    [
      'dependency list --task t1 --agent far --open',
      'dependency.list',
      { task: 't1', agent: 'far', open: true },
    ],
    ['dependency show t1/0001.0000', 'dependency.show', { dependency: 't1/0001.0000' }],
    ['dependency poll t1/0001.0000', 'dependency.poll', { dependency: 't1/0001.0000' }],
    ['dependency cancel t1/0001.0000', 'dependency.cancel', { dependency: 't1/0001.0000' }],
  ])('%s asks for %s', async (line, operation, input) => {
    for (const more of [[], ['--json']])
      await endpoint.run([...line.split(' '), ...more, '--data', 'data'], {
        input: '{"from": "input"}',
        environment: { KEY: key },
      });
    expect(endpoint.requests.map(({ body }) => JSON.parse(body))).toEqual(
      Array(2).fill({ operation, arguments: input }),
    );
  });

  it('reads the same from JSON as from YAML, and from a file as from the input', async () => {
    const openai = { id: 'model', kind: 'openai', baseUrl: 'https://models.example.com/v1', model: 'm' };
    await writeFile(join(endpoint.folder, 'p.yaml'), openaiFile);
    await writeFile(join(endpoint.folder, 'p.json'), JSON.stringify(openai, null, 2));
    await json('provider put data/p.yaml');
    await json('provider put data/p.json');
    await json('provider put -', { input: openaiFile });
    for (const { body } of endpoint.requests) expect(JSON.parse(body).arguments.provider).toEqual(openai);
    expect(endpoint.requests).toHaveLength(3);
  });

  it('prints tables for people, and warnings beside them', async () => {
    await run('client add Acme --id acme1');
    const listed = await run('client list');
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(listed.out).toMatch(/│ id +│ name +│/);
    expect(listed.out).toMatch(/│ acme1 +│ Acme +│ false/);
    expect((await run('profile list')).out).toBe('none\n');
    const put = await run('profile put -', { input: profileFile });
    expect(put.err).toBe('Warning: providers[0]: there is no provider "echo"\n');
    expect((await run('settings show')).out).toMatch(/│ maxParts +│ 100 +│ default +│/);
    const task = (await run('task show known')).out;
    expect(task).toMatch(/│ revision +│ 2 +│/);
    expect(task).toMatch(/revisions\n┌/);
    expect(task).toMatch(/│ 2 +│ x +│/);
  });

  it('keeps control characters of stored names from the terminal', async () => {
    const answer = { ok: true, result: { task: 'x\u001b[2Jy', warnings: ['a\u0007b'] } };
    endpoint.gateway.admin.execute = async () => ({ kind: 'done', result: answer.result });
    const { out, err } = await run('task show known');
    expect(out + err).not.toMatch(/[^\P{Cc}\n]/u);
    expect(out).toContain('x [2Jy');
  });
});

describe('a token', () => {
  it('is shown once, with a note, and by no later command', async () => {
    const added = await run('client add Acme --id acme1');
    const [token] = /sp_acme1_\S+/.exec(added.out) ?? [];
    expect(added.out).toContain('shown this once and not stored');
    const rotated = await run('client rotate acme1');
    expect(rotated.out).toMatch(/sp_acme1_/);
    const later = await Promise.all(
      ['client list', 'client disable acme1', 'client rotate acme1 --drop-old'].map((line) => run(line)),
    );
    for (const { out, err } of later) expect(out + err).not.toContain('sp_');
    expect(endpoint.gateway.dump()).not.toContain(token);
  });
});

describe("a provider's key", () => {
  const shown: string[] = [];
  const put = async (words: string, input = openaiFile, environment = {}) => {
    for (const more of ['', ' --json']) {
      const { code, out, err } = await run(`provider put - ${words}${more}`.replace(/ +/g, ' ').trim(), {
        input,
        environment,
      });
      shown.push(out, err);
      expect(code).toBe(0);
    }
    const provider = await endpoint.gateway.registry.provider('model');
    if (provider?.kind !== 'openai' || !provider.apiKey) return undefined;
    return endpoint.gateway.secrets.open('model', provider.apiKey);
  };

  it.each(['', '\n', '\r\n'])('comes from a file byte for byte, without its line end %j', async (end) => {
    await writeFile(join(endpoint.folder, 'key'), `${key}${end}`);
    expect(await put('--secret-file data/key')).toBe(key);
  });

  it('comes from a variable, or from the file itself', async () => {
    expect(await put('--secret-env MODEL_KEY', openaiFile, { MODEL_KEY: key })).toBe(key);
    endpoint.gateway.clock.advance(60_000);
    expect(await put('', `${openaiFile}apiKey: ${key}-2\n`)).toBe(`${key}-2`);
  });

  it('is never printed', async () => {
    await put('', `${openaiFile}apiKey: ${key}\n`);
    for (const line of ['provider list', 'provider list --json']) {
      const { out, err } = await run(line);
      expect(out).toContain('***');
      shown.push(out, err);
    }
    expect(shown.join('')).not.toContain(key);
    expect(endpoint.gateway.dump()).not.toContain(key);
  });
});

describe('a mistake ends with exit code 1 and says where', () => {
  const cases: [string, string, string, string | undefined, string][] = [
    ['client add', '', 'USAGE', undefined, "missing required argument 'name'"],
    ['client add A B', '', 'USAGE', undefined, 'too many arguments'],
    ['client drop acme1', '', 'USAGE', undefined, 'unknown command'],
    ['client list --all', '', 'USAGE', undefined, "unknown option '--all'"],
    ['client list --url http://127.0.0.1:1', '', 'USAGE', undefined, 'cannot be used with'],
    ['client disable gone', '', 'NOT_FOUND', 'id', 'no client "gone"'],
    ['client add A --profile gone', '', 'REFUSED', 'profiles[0]', 'no profile "gone"'],
    ['profile put data/none.yaml', '', 'FILE', undefined, 'data/none.yaml cannot be read (ENOENT)'],
    ['profile put -', '', 'FILE', undefined, 'the input is neither JSON nor YAML: it is empty'],
    ['profile put -', `{"apiKey": "${key}`, 'FILE', undefined, 'in line 1, column'],
    ['profile put -', `a: ${key}\na: ${key}`, 'FILE', undefined, 'DUPLICATE_KEY in line 2, column 1'],
    ['profile put -', `a: *${key}`, 'FILE', undefined, 'aliases'],
    ['profile put -', `a: !secret ${key}`, 'FILE', undefined, 'TAG_RESOLVE_FAILED in line 1'],
    ['profile put -', `${profileFile}attempts: 0`, 'INVALID', 'attempts', 'attempts: must be at least 1'],
    ['profile put -', 'providers: [1]', 'INVALID', 'id', 'providers[0]: must be a string'],
    ['profile put - --if-edition soon', profileFile, 'INVALID', 'ifEdition', 'ifEdition: must be a number'],
    ['profile publish gone', '', 'NOT_FOUND', 'id', 'no profile "gone"'],
    ['provider put -', `- ${key}`, 'INVALID', undefined, 'must be an object'],
    ['provider put -', `${openaiFile}apiKey: [${key}]`, 'INVALID', 'apiKey', 'apiKey: must be a string'],
    ['provider put - --secret-env NONE', openaiFile, 'USAGE', 'apiKey', 'NONE is not set'],
    ['provider put - --secret-file data/none', openaiFile, 'FILE', undefined, 'data/none cannot be read'],
    ['settings set maxParts=7 seven', '', 'USAGE', undefined, 'key=value'],
    ['settings set maxPart=7', '', 'INVALID', 'maxPart', 'maxPart: is not a known field'],
    ['settings set maxParts=many', '', 'INVALID', 'maxParts', 'maxParts: must be a number'],
    ['task show gone', '', 'NOT_FOUND', 'id', 'no task "gone"'],
  ];

  it.each(cases)('%s %j', async (line, input, code, field, message) => {
    const people = await run(line, { input });
    expect(people).toMatchObject({ code: 1, out: '' });
    expect(people.err).toMatch(/^Error: /);
    expect(people.err).toContain(message);
    const programs = await json(line, { input });
    expect(programs.code).toBe(1);
    expect(programs.value).toEqual({
      error: { code, message: expect.stringContaining(message), ...(field && { field }) },
    });
    expect(people.err + JSON.stringify(programs.value)).not.toContain(key);
  });
});

describe('the gateway that a command is for', () => {
  it('is the one on ./.sealpost, when none is named', async () => {
    const none = await endpoint.run(['client', 'list']);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('npm start -- --data .sealpost') });
    await cp(endpoint.folder, join(endpoint.folder, '..', '.sealpost'), { recursive: true });
    expect(await endpoint.run(['client', 'list'])).toMatchObject({ code: 0, out: 'none\n' });
    expect(await endpoint.run(['client', 'list', '--url', endpoint.url])).toMatchObject({ code: 0 });
  });

  it('is found by URL, with or without a path and a slash, with the token in the environment', async () => {
    const environment = { SEALPOST_ADMIN_TOKEN: endpoint.token };
    for (const url of [endpoint.url, `${endpoint.url}/`])
      expect(await endpoint.run(['client', 'list', '--url', url], { environment })).toMatchObject({
        code: 0,
      });
    const without = await endpoint.run(['client', 'list', '--url', endpoint.url]);
    expect(without).toMatchObject({ code: 1, err: expect.stringContaining('SEALPOST_ADMIN_TOKEN') });
    // What a browser would send marks a request as not the administrator's.
    for (const { headers } of endpoint.requests) expect(headers).not.toHaveProperty('origin');
  });

  it('never gets the token over a network in the clear', async () => {
    const environment = { SEALPOST_ADMIN_TOKEN: endpoint.token };
    for (const url of ['http://gateway.example.com', 'ftp://127.0.0.1', 'nonsense']) {
      const { code, err } = await endpoint.run(['client', 'list', '--url', url], { environment });
      expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('--url must be') });
    }
  });

  it('is not followed to another address, to which it would carry the token', async () => {
    const requests = endpoint.requests.length;
    const redirecting = createServer((_request, response) =>
      response.writeHead(307, { location: `${endpoint.url}/admin` }).end(),
    );
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
    const environment = { SEALPOST_ADMIN_TOKEN: endpoint.token };
    const { code, err } = await endpoint.run(['client', 'list', '--url', url], { environment });
    redirecting.closeAllConnections();
    await new Promise((resolve) => redirecting.close(resolve));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('no gateway answers') });
    expect(endpoint.requests).toHaveLength(requests);
  });

  it('says when it is not running, when it refuses, and when it makes no sense', async () => {
    await writeFile(
      join(endpoint.folder, 'host.json'),
      JSON.stringify({ url: await closedUrl(), adminToken: 'x' }),
    );
    expect((await json('client list')).value['error']).toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await writeFile(
      join(endpoint.folder, 'host.json'),
      JSON.stringify({ url: endpoint.url, adminToken: 'old-token' }),
    );
    const refused = await json('client list');
    expect(refused.value['error']).toMatchObject({ code: 'FORBIDDEN' });
    expect(JSON.stringify(refused.value)).not.toContain('old-token');
    await writeFile(join(endpoint.folder, 'host.json'), '{"url":');
    expect((await json('client list')).value['error']).toMatchObject({ code: 'NO_TARGET' });
  });
});

async function closedUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe('npm run admin', () => {
  it('prints one JSON value and nothing else, and exits with 1 on a mistake', async () => {
    const main = join(import.meta.dirname, '../../infra/cli/main.ts');
    const start = (...words: string[]) =>
      promisify(execFile)(process.execPath, [main, ...words, '--json'], { cwd: join(endpoint.folder, '..') });
    const { stdout, stderr } = await start('client', 'list', '--data', 'data');
    expect({ stdout, stderr }).toEqual({ stdout: '{"clients":[]}\n', stderr: '' });
    await expect(start('client', 'list')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^\{"error":\{"code":"NO_TARGET".*\}\}\n$/),
      stderr: '',
    });
  });
});
