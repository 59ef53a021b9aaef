import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { bundleAll, functionNames, sizeLimit } from '../../infra/bundle.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealpost-bundles-'));
const require = createRequire(import.meta.url);
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the bundle of a function', () => {
  it.for(functionNames)('%s keeps to its size', (name, { annotate }) => {
    const [bundle] = bundleAll(directory, [name]);
    const kilobytes = `${name} ${(bundle!.bytes / 1024).toFixed(0)} KB`;
    void annotate(kilobytes);
    console.log(kilobytes);
    expect(bundle!.bytes).toBeGreaterThan(1024);
    expect(bundle!.bytes).toBeLessThan(sizeLimit(name) ?? Number.POSITIVE_INFINITY);
  });

  it.for(functionNames)('%s loads in Node as Lambda loads it, and exports its handler', (name) => {
    const [bundle] = bundleAll(join(directory, 'load'), [name]);
    const load = `
      globalThis.awslambda = { streamifyResponse: (handler) => handler, HttpResponseStream: { from: (stream) => stream } };
      const { handler } = await import(${JSON.stringify(join(bundle!.directory, 'index.mjs'))});
      process.stdout.write(typeof handler);
      process.exit(0);`;
    const environment = {
      PATH: process.env['PATH'],
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      SEALPOST_STATE_TABLE: 'state',
      SEALPOST_VIEW_TABLE: 'view',
      SEALPOST_OUTBOX_TABLE: 'outbox',
      SEALPOST_DELEGATION_TABLE: 'delegation',
      SEALPOST_REGISTRY_TABLE: 'registry',
      SEALPOST_DATA_KEY: 'key',
      SEALPOST_RUN_QUEUE: 'https://sqs.example/runs',
      SEALPOST_PROJECTION_QUEUE: 'https://sqs.example/projections',
    };
    const loaded = spawnSync(process.execPath, ['--input-type=module', '-e', load], { env: environment });
    expect(`${loaded.stdout}${loaded.stderr}`).toBe('function');
  });

  it('holds what is deployed and the record of what went into it, and no source', () => {
    const entry = join(directory, 'entry.ts');
    writeFileSync(
      entry,
      "import { join } from 'node:path';\nexport const handler = (a: string): string => join(a, 'x');",
    );
    const [bundle] = bundleAll(join(directory, 'out'), ['sweeper'], () => entry);
    const files = readdirSync(bundle!.directory);
    expect(files).toEqual(expect.arrayContaining(['index.mjs', 'index.mjs.map', 'meta.json']));
    expect(bundle!.bytes).toBe(readFileSync(join(bundle!.directory, 'index.mjs')).byteLength);
    const map = JSON.parse(readFileSync(join(bundle!.directory, 'index.mjs.map'), 'utf8'));
    expect(map.sourcesContent).toBeUndefined();
    const meta = JSON.parse(readFileSync(join(bundle!.directory, 'meta.json'), 'utf8'));
    expect(Object.keys(meta.inputs)).toHaveLength(1);
  });

  it('exports a handler that Node can load', async () => {
    const entry = join(directory, 'commonjs.ts');
    // A CommonJS module that requires one of Node's own, as several dependencies do.
    writeFileSync(join(directory, 'old.cjs'), "module.exports = require('node:os').EOL;");
    writeFileSync(entry, "import eol from './old.cjs';\nexport const handler = (): string => eol;");
    const [bundle] = bundleAll(join(directory, 'loaded'), ['sweeper'], () => entry);
    const { handler } = await import(join(bundle!.directory, 'index.mjs'));
    expect(handler()).toBe('\n');
  });

  it('takes its credentials from the environment, as Lambda gives them, and brings no other way', async () => {
    const entry = join(directory, 'client.ts');
    writeFileSync(
      entry,
      `import { SQSClient } from '${require.resolve('@aws-sdk/client-sqs')}';
       export const handler = () => new SQSClient({ region: 'eu-central-1' }).config.credentials();`,
    );
    const [bundle] = bundleAll(join(directory, 'client'), ['sweeper'], () => entry);
    expect(Object.keys(bundle!.metafile.inputs).join(' ')).not.toMatch(
      /credential-provider-(node|sso|ini)|client-sso/,
    );
    const { handler } = await import(join(bundle!.directory, 'index.mjs'));
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'token');
    expect(await handler()).toMatchObject({
      accessKeyId: 'id',
      secretAccessKey: 'secret',
      sessionToken: 'token',
    });
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
    await expect(handler()).rejects.toMatchObject({ name: 'CredentialsProviderError' });
  });

  it('is refused when its entry is missing', () => {
    expect(() => bundleAll(directory, ['rpc'], () => join(directory, 'nowhere.ts'))).toThrow(
      /rpc has no entry/,
    );
  });
});
