import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundleAll } from '../../infra/bundle.ts';
import { portIsOpen } from './ports.ts';
import { call, message, textOf } from './rpc.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const entry = join(root, 'infra/local/start.mjs');
const environment = { ...process.env, AWS_ENDPOINT_URL_DYNAMODB: '', POWERTOOLS_LOG_LEVEL: undefined };

let folder: string;
let children: ChildProcessWithoutNullStreams[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealpost-start-'));
  children = [];
});
afterEach(async () => {
  for (const child of children.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  readonly errors: () => string;
  readonly exit: Promise<[number | null, NodeJS.Signals | null]>;
}
function start(flags: readonly string[], nodeFlags: readonly string[] = []): Started {
  return launch(process.execPath, [...nodeFlags, entry, ...flags]);
}
function launch(command: string, args: readonly string[]): Started {
  const child = spawn(command, args, { env: environment, cwd: root, detached: true });
  children.push(child);
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exit = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, output: () => output, errors: () => errors, exit };
}
async function ready(started: Started): Promise<{ url: string; cardUrl: string; token: string }> {
  await vi.waitFor(() => expect(started.output(), started.errors()).toContain('\n'), {
    timeout: 15_000,
    interval: 10,
  });
  return JSON.parse(started.output());
}

describe('npm start', () => {
  it('prints one line of JSON and nothing else, and is ready within three seconds', async () => {
    const before = performance.now();
    const started = start(['--port', '0', '--json', '--verbose']);
    const host = await ready(started);
    expect(performance.now() - before).toBeLessThan(3_000);
    expect(Object.keys(host)).toEqual(['url', 'cardUrl', 'token']);
    expect(textOf((await call(host, 'SendMessage', message('Hello!'))).body.result?.task)).toBe('Hello!');
    started.child.kill('SIGTERM');
    expect(await started.exit).toEqual([0, null]);
    expect(started.output()).toBe(`${JSON.stringify(host)}\n`);
    // What the functions log went where it belongs.
    expect(started.errors()).toContain('"service":"sealpost"');
  });

  it('ends with the npm that started it, which a script has the process id of', async () => {
    const npm = launch('npm', ['start', '-s', '--', '--port', '0', '--json']);
    const { url } = await ready(npm);
    npm.child.kill('SIGTERM');
    await npm.exit;
    await vi.waitFor(async () => expect(await portIsOpen(url)).toBe(false), { timeout: 5_000 });
  });

  it('prints commands that work when pasted', async () => {
    const started = start(['--port', '0']);
    await vi.waitFor(() => expect(started.output()).toContain('Ctrl-C'), { timeout: 15_000 });
    const lines = started.output().split('\n');
    const line = (tool: string) => lines.find((text) => text.startsWith(`${tool} `)) ?? '';
    const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
    const node = await run('sh', ['-c', line('node')], { env: { ...process.env, PATH: path } });
    expect(JSON.parse(node.stdout).result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const curl = await run('sh', ['-c', `command -v curl >/dev/null || exit 0; ${line('curl')}`]);
    if (curl.stdout) expect(JSON.parse(curl.stdout).result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(started.errors()).toBe('');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends cleanly on %s and leaves no process and no port',
    async (signal) => {
      const started = start(['--port', '0', '--json']);
      const { url } = await ready(started);
      const family = await descendants(started.child.pid ?? 0);
      expect(family.length).toBeGreaterThan(0);
      started.child.kill(signal);
      expect(await started.exit).toEqual([0, null]);
      expect(await portIsOpen(url)).toBe(false);
      await vi.waitFor(() => expect(family.filter(isAlive)).toEqual([]));
    },
  );

  it('does not wait on a second signal', async () => {
    const module = join(folder, 'stuck.mjs');
    writeFileSync(module, 'export const handler = () => new Promise(() => {});');
    const started = start(['--port', '0', '--json', '--function', `stuck=${module}`]);
    const host = await ready(started);
    void call(host, 'SendMessage', message('x', 'stuck')).catch(() => {});
    await vi.waitFor(async () => {
      const list = (await call(host, 'ListTasks', {})).body.result as { tasks?: unknown[] };
      expect(list.tasks).toHaveLength(1);
    });
    started.child.kill('SIGINT');
    await vi.waitFor(async () => expect(await portIsOpen(host.url)).toBe(false));
    started.child.kill('SIGINT');
    expect(await started.exit).toEqual([1, null]);
  });

  it('keeps everything through a kill -9', async () => {
    const flags = ['--port', '0', '--json', '--data', join(folder, 'data')];
    const first = start(flags);
    const host = await ready(first);
    const id = (await call(host, 'SendMessage', message('kept'))).body.result?.task?.id ?? '';
    const family = await descendants(first.child.pid ?? 0);
    first.child.kill('SIGKILL');
    await first.exit;
    const again = await ready(start(flags));
    expect(again.token).toBe(host.token);
    expect(textOf((await call(again, 'GetTask', { id })).body.result)).toBe('kept');
    await vi.waitFor(() => expect(family.filter(isAlive)).toEqual([]));
  });

  it('runs the bundles that are deployed', async () => {
    bundleAll(folder);
    const host = await ready(start(['--port', '0', '--json', '--bundles', folder]));
    expect(textOf((await call(host, 'SendMessage', message('bundled'))).body.result?.task)).toBe('bundled');
    expect((await fetch(host.cardUrl)).status).toBe(200);
  });

  it('says what is wrong with an older Node', async () => {
    const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.9.0'}})`;
    const started = start(['--json'], ['--import', old]);
    expect(await started.exit).toEqual([1, null]);
    expect(started.errors()).toMatch(/^Sealpost needs Node 24 or newer; this is 20\.9\.0/);
    expect(started.output()).toBe('');
  });

  it('says what to do where there is no engine for the machine', async () => {
    const other = `data:text/javascript,Object.defineProperty(process,'arch',{value:'mips'})`;
    const started = start(['--json', '--port', '0'], ['--import', other]);
    expect(await started.exit).toEqual([1, null]);
    expect(started.errors()).toContain('AWS_ENDPOINT_URL_DYNAMODB');
    expect(started.errors()).not.toContain(' at ');
  });

  it('says that its port or its folder is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const started = start(['--port', String(port)]);
    expect(await started.exit).toEqual([1, null]);
    expect(started.errors()).toBe(`Port ${port} is taken; choose another one with --port, or 0 for any.\n`);
    server.close();

    const flags = ['--port', '0', '--json', '--data', folder];
    await ready(start(flags));
    const second = start(flags);
    expect(await second.exit).toEqual([1, null]);
    expect(second.errors()).toBe(`Another gateway is running on ${folder}.\n`);
  });

  it.each([
    [['--port', '70000'], '--port'],
    [['--function', 'nope'], '--function'],
    [['--function', 'Bad Name=x'], '--function'],
    [['extra'], 'too many arguments'],
  ])('refuses %j and names what it cannot use', async (flags, named) => {
    const started = start(flags);
    expect(await started.exit).toEqual([1, null]);
    expect(started.errors()).toContain(named);
  });
});

async function descendants(parent: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-eo', 'pid=,ppid=']);
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  const childrenOf = (of: number): number[] =>
    pairs.filter(([, ppid]) => ppid === of).flatMap(([pid]) => [pid, ...childrenOf(pid)]);
  return childrenOf(parent);
}

/** An ended process that its new parent has not yet taken note of does not count. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)]);
  return !/^(Z.*)?$/.test(stdout.toString().trim());
}
