import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { json, startFakeServer } from './fake-servers.ts';

const SCRIPT = `
const { createProviderAdapters } = await import(process.argv[1]);
const provider = { id: 'p', kind: 'openai', baseUrl: process.argv[2], model: 'm', trustedHosts: [], timeoutSeconds: 5 };
const adapterFor = createProviderAdapters({ lambda: { config: {} }, fetchFor: () => fetch, environment: {} });
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
const request = { message, history: [], contextMessages: [], references: [], agents: [], signal: new AbortController().signal };
process.stdout.write(JSON.stringify(await adapterFor(provider).run(request)));
`;

test('the adapters work in a bundle of one file, as a deployed function has it', async () => {
  await using server = await startFakeServer(
    json(200, { choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }),
  );
  const directory = await mkdtemp(join(tmpdir(), 'providers-'));
  try {
    const outfile = join(directory, 'index.mjs');
    buildSync({
      entryPoints: [join(import.meta.dirname, '../../shared/providers/adapter.ts')],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      minify: true,
      mainFields: ['module', 'main'],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      logLevel: 'error',
    });
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', SCRIPT, outfile, server.url],
      { timeout: 20_000 },
    );
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'completed', artifacts: [{ parts: [{ text: 'hi' }] }] });
    expect(stderr).toBe('');
  } finally {
    await rm(directory, { recursive: true });
  }
});
