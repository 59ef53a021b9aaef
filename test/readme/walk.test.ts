import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

let folder: string;
let host: ChildProcess | undefined;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealpost-readme-'));
  symlinkSync(join(root, 'test'), join(folder, 'test'));
  const flags = [
    '--data',
    '.sealpost',
    '--port',
    '0',
    '--json',
    '--function',
    'refunds=test/readme/refund-clerk.mjs',
  ];
  const env = { ...process.env, AWS_ENDPOINT_URL_DYNAMODB: '' };
  host = spawn(process.execPath, [join(root, 'infra/local/start.mjs'), ...flags], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: host.stdout! }), 'line')) as [string];
  ({ url } = JSON.parse(line));
});
afterAll(async () => {
  if (host && host.exitCode === null) {
    host.kill('SIGTERM');
    await once(host, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

describe('the commands of the README', () => {
  it('work when pasted one after another, and answer what is shown', async ({ skip }) => {
    const { stdout: curl } = await run('sh', ['-c', 'command -v curl || true']);
    if (curl === '') skip('this machine has no curl');
    const script = steps.map(({ commands }) => commands).join(`\necho '${MARK}'\n`);
    const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
    const { stdout } = await run('sh', ['-c', preamble + script.replaceAll('http://127.0.0.1:8080', url)], {
      cwd: folder,
      env: { ...process.env, PATH: path, SEALPOST_ADMIN_TOKEN: '' },
    });
    const answers = stdout.split(`${MARK}\n`);
    expect(answers).toHaveLength(steps.length);
    expect(steps.filter(({ seen }) => seen !== undefined).length).toBeGreaterThan(5);
    for (const [at, { commands, seen }] of steps.entries()) {
      if (seen !== undefined) expect(shapeOf(answers[at] ?? ''), commands).toBe(shapeOf(seen));
    }
  }, 60_000);
});

/** An answer without what is new each time. */
function shapeOf(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
    .trim();
}
