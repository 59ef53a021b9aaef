import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fences, root } from './document.ts';

const run = promisify(execFile);

/** What the README shows as an answer stands right behind the commands it answers. */
const steps = fences.flatMap(({ info, text }, at) => {
  if (info !== 'sh walk') return [];
  const next = fences[at + 1];
  return [{ commands: text, seen: next?.info.endsWith(' seen') ? next.text : undefined }];
});

/** `npm run` prints nothing with `-s` but takes half a second each time; what it would start is started directly. */
const preamble = `
set -e
npm() { [ "$1 $2 $3 $4" = 'run -s admin --' ]; shift 4; node '${join(root, 'infra/cli/main.ts')}' "$@"; }
`;
const MARK = '=====';

const hosts: ChildProcess[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealpost-readme-'));
  symlinkSync(join(root, 'test'), join(folder, 'test'));
});
afterEach(async () => {
  for (const host of hosts.splice(0).filter(({ exitCode }) => exitCode === null)) {
    host.kill('SIGTERM');
    await once(host, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

/** A host in the folder, on a free port; answers its URL. */
async function start(...flags: readonly string[]): Promise<string> {
  const entry = join(root, 'infra/local/start.mjs');
  const host = spawn(process.execPath, [entry, ...flags, '--port', '0', '--json'], {
    cwd: folder,
    env: { ...process.env, AWS_ENDPOINT_URL_DYNAMODB: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  hosts.push(host);
  const [line] = (await once(createInterface({ input: host.stdout! }), 'line')) as [string];
  return JSON.parse(line).url;
}

async function paste(script: string): Promise<string> {
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const { stdout } = await run('sh', ['-c', preamble + script], {
    cwd: folder,
    env: { ...process.env, PATH: path, SEALPOST_ADMIN_TOKEN: '' },
  });
  return stdout;
}

describe('the commands of the README', () => {
  it('work when pasted one after another, and answer what is shown', async ({ skip }) => {
    const { stdout: curl } = await run('sh', ['-c', 'command -v curl || true']);
    if (curl === '') skip('this machine has no curl');
    const script = steps.map(({ commands }) => commands).join(`\necho '${MARK}'\n`);
    const url = await start('--data', '.sealpost', '--function', 'refunds=test/readme/refund-clerk.mjs');
    const stdout = await paste(script.replaceAll('http://127.0.0.1:8080', url));
    const answers = stdout.split(`${MARK}\n`);
    expect(answers).toHaveLength(steps.length);
    expect(steps.filter(({ seen }) => seen !== undefined).length).toBeGreaterThan(5);
    for (const [at, { commands, seen }] of steps.entries()) {
      if (seen !== undefined) expect(shapeOf(answers[at] ?? ''), commands).toBe(shapeOf(seen));
    }
  }, 60_000);

  it('make two gateways hand a task from one to the other', async () => {
    const only = (info: string) => fences.filter((fence) => fence.info === info).map(({ text }) => text);
    const [script = ''] = only('sh remote');
    await start('--data', '.sealpost', '--allow-loopback');
    const far = await start('--data', '.far', '--allow-loopback');
    const seen = await paste(script.replaceAll('http://127.0.0.1:8081', far));
    expect(seen.trim()).toBe(only('text remote')[0]?.trim());
  }, 60_000);
});

/** An answer without what is new each time. */
function shapeOf(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
    .trim();
}
