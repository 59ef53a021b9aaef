import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdminEndpoint, startAdminEndpoint } from './admin-endpoint.ts';

const credential = 'the-agents-own-credential';

let endpoint: AdminEndpoint;
beforeEach(async () => {
  endpoint = await startAdminEndpoint();
});
afterEach(() => endpoint[Symbol.asyncDispose]());

const run = (line: string, change?: Parameters<AdminEndpoint['run']>[1]) =>
  endpoint.run([...line.split(' '), '--data', 'data'], change);
const sent = () => endpoint.requests.map(({ body }) => JSON.parse(body).arguments);
const answering = (...results: readonly object[]) => {
  const left = [...results];
  endpoint.gateway.admin.execute = async () => ({ kind: 'done', result: left.shift() ?? {} });
};

describe('remote agents on the command line', () => {
  it('get their credential from a file, a variable or the input, and it is printed by nothing', async () => {
    await writeFile(join(endpoint.folder, 'credential'), `${credential}\n`);
    const outputs = [
      await run('agent add a1 --card https://a.example --credential-file data/credential'),
      await run('agent add a2 --card https://a.example --credential-file -', { input: `${credential}\n` }),
      await run('agent add a3 --card https://a.example --credential-env KEY', {
        environment: { KEY: credential },
      }),
      await run('agent rotate a1', { input: credential }),
      await run('agent list'),
      await run('agent show a1 --json'),
    ];
    expect(outputs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(
      sent()
        .slice(0, 4)
        .map(({ agent, ...rest }) => (agent ?? rest).credential),
    ).toEqual(Array(4).fill(credential));
    for (const { out, err } of outputs) expect(out + err).not.toContain(credential);
    expect(outputs[4]?.out).toMatch(
      /│ a1 +│ Weather +│ https:\/\/a.example\/rpc +│ embedded +│ \*\*\* +│ false/,
    );
  });

  it('are not asked for with two credentials, or with a variable that is not set', async () => {
    const both = 'agent add a1 --card https://a.example --credential-file f --credential-env KEY';
    expect(await run(`${both} --json`)).toMatchObject({ code: 1, out: expect.stringContaining('USAGE') });
    const unset = await run('agent rotate a1 --credential-env KEY --json');
    expect(JSON.parse(unset.out)).toMatchObject({ error: { code: 'USAGE', field: 'credential' } });
    expect(endpoint.requests).toEqual([]);
  });

  it('have the key of their card from a JWK or a key set; a private key is not sent', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' });
    const files = {
      jwk,
      set: { keys: [jwk] },
      two: { keys: [jwk, jwk] },
      own: privateKey.export({ format: 'jwk' }),
    };
    for (const [name, content] of Object.entries(files))
      await writeFile(join(endpoint.folder, `${name}.json`), JSON.stringify(content));
    const add = (name: string) =>
      run(`agent add ${name} --card https://a.example --card-key data/${name}.json`);
    expect(await add('jwk')).toMatchObject({ code: 0 });
    expect(await add('set')).toMatchObject({ code: 0 });
    expect(sent().map(({ agent }) => agent.cardKey)).toEqual([jwk, jwk]);
    expect(await add('two')).toMatchObject({ code: 1, err: expect.stringContaining('several keys') });
    expect(await add('own')).toMatchObject({ code: 1, err: expect.stringContaining('private key') });
    expect(endpoint.requests).toHaveLength(2);
  });

  it('say why they cannot be registered, and how a test went by the exit code', async () => {
    expect(await run('agent add a1 --card https://broken.example')).toEqual({
      code: 1,
      out: '',
      err: 'Error: cardUrl: the card has no compatible interface\n',
    });
    await run('agent add a1 --card https://a.example');
    const tested = await run('agent test a1');
    expect(tested).toMatchObject({ code: 0, out: expect.stringMatching(/│ card +│ ok +│ fine +│/) });
    answering({ agent: 'a1', ok: false, checks: [{ check: 'call', outcome: 'failed', says: 'no' }] });
    expect(await run('agent test a1 --json')).toMatchObject({ code: 1, err: '' });
  });

  it('show what a refresh changed', async () => {
    await run('agent add a1 --card https://a.example');
    const refreshed = await run('agent refresh a1');
    expect(refreshed.out).toMatch(/│ card +│ unchanged/);
  });
});

describe('runs on the command line', () => {
  const resting = {
    id: 'run1',
    state: 'TASK_STATE_COMPLETED',
    task: {
      status: { message: { parts: [{ text: 'done' }] } },
      artifacts: [{ parts: [{ text: 'a\u001b[2Jb' }, { data: 7 }] }],
    },
  };

  it('wait until they rest, and print what they brought', async () => {
    const moving = { id: 'run1', state: 'TASK_STATE_WORKING' };
    answering({ id: 'run1', state: 'TASK_STATE_SUBMITTED' }, moving, moving, resting);
    const { code, out } = await run('run start echo --message hello --wait');
    expect(code).toBe(0);
    expect(out).toMatch(/│ state +│ TASK_STATE_COMPLETED/);
    expect(out).toContain('\ndone\n');
    expect(out).toContain('a [2Jb\n{"data":7}\n');
    expect(sent()).toEqual([
      { target: 'echo', message: 'hello' },
      ...Array(3).fill({ id: 'run1', waitSeconds: 20 }),
    ]);
  });

  it('print one JSON value with --json, the one they rest with', async () => {
    answering({ id: 'run1', state: 'TASK_STATE_SUBMITTED' }, resting);
    expect(JSON.parse((await run('run start echo --message hello --wait --json')).out)).toEqual(resting);
  });

  it('need words', async () => {
    const { code, out } = await run('run start echo --json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'USAGE', field: 'message' } });
    expect(endpoint.requests).toEqual([]);
  });
});

describe('waits for remote agents on the command line', () => {
  it('are listed in a table that says when there are more', async () => {
    expect((await run('dependency list')).out).toMatch(/│ t1\/0001.0000 +│ any +│/);
    answering({ dependencies: [], more: true });
    expect((await run('dependency list')).out).toBe(
      'none\nThere are more; narrow the list with --agent or --task.\n',
    );
  });
});
