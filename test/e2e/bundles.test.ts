import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleAll } from '../../infra/bundle.ts';
import { call, message, textOf } from '../local/rpc.ts';
import { type Command, startCommand } from './command.ts';
import { type Folder, makeFolder } from './function-provider.ts';
import { provesAStockClient } from './stock-suite.ts';

const run = promisify(execFile);
const admin = join(import.meta.dirname, '../../infra/cli/main.ts');

describe('the bundles that are deployed', () => {
  let folder: Folder;
  let bundles: string;
  let dataDir: string;
  let host: Command;
  beforeAll(() => {
    folder = makeFolder();
    bundles = join(folder.path, 'bundles');
    dataDir = join(folder.path, 'data');
    bundleAll(bundles);
  }, 120_000);
  afterAll(() => folder?.[Symbol.dispose]());

  provesAStockClient(async (functions) => {
    const flags = Object.entries(functions).flatMap(([name, path]) => ['--function', `${name}=${path}`]);
    host = await startCommand(['--bundles', bundles, '--data', dataDir, ...flags]);
    return { ...host, stop: host.interrupt };
  });

  const administer = async (...words: readonly string[]) => {
    const { stdout } = await run(process.execPath, [admin, ...words, '--data', dataDir, '--json']);
    return JSON.parse(stdout);
  };

  it('are administered: a provider, a profile and a client of one’s own, used, repaired and taken away', async () => {
    const file = (name: string, content: object) => {
      const path = join(folder.path, `${name}.json`);
      writeFileSync(path, JSON.stringify(content));
      return path;
    };
    await administer('provider', 'put', file('provider', { id: 'mine', kind: 'echo' }));
    const profile = { id: 'mine', name: 'Mine', description: 'Of my own.', providers: ['mine'] };
    await administer('profile', 'put', file('profile', profile));
    await administer('profile', 'publish', 'mine');
    const { token } = await administer('client', 'add', 'Me', '--id', 'mine1', '--profile', 'mine');
    const me = { url: host.url, token };
    const { task } = (await call(me, 'SendMessage', message('own', 'mine'))).body.result ?? {};
    expect(textOf(task)).toBe('own');
    expect((await call(me, 'SendMessage', message('own', 'echo'))).body.error?.code).toBe(-32602);
    expect(await administer('task', 'show', task?.id ?? '')).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
    expect(await administer('task', 'rebuild', task?.id ?? '')).toBeTruthy();
    expect(textOf((await call(me, 'GetTask', { id: task?.id })).body.result)).toBe('own');
    expect(await administer('task', 'repair')).toMatchObject({ failed: 0 });
    await administer('client', 'disable', 'mine1');
    expect((await call(me, 'GetTask', { id: task?.id })).status).toBe(401);
  });

  it('say nothing on standard error while all goes well', () => {
    expect(host.errors()).toBe('');
  });
});
