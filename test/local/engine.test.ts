import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createTables, EngineUnavailable, startEngine } from '../../infra/local/engine.ts';
import { localClient } from '../../infra/local/local-client.ts';
import { tables } from '../../shared/storage/tables.ts';
import { portIsOpen } from './ports.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'sealpost-engine-'));
  folders.push(path);
  return path;
};

describe('the embedded engine', () => {
  it('creates the five tables with their indexes and the key-only stream, again without harm', async () => {
    const engine = await startEngine();
    const client = new DynamoDBClient(localClient(engine.endpoint));
    const names = await createTables(engine.endpoint, 'a-');
    expect(await createTables(engine.endpoint, 'a-')).toEqual(names);
    expect(Object.keys(names).sort()).toEqual(Object.keys(tables).sort());
    const state = (await client.send(new DescribeTableCommand({ TableName: names.state }))).Table;
    expect(state?.StreamSpecification).toEqual({ StreamEnabled: true, StreamViewType: 'KEYS_ONLY' });
    const view = (await client.send(new DescribeTableCommand({ TableName: names.view }))).Table;
    expect(view?.GlobalSecondaryIndexes?.map((index) => index.IndexName).sort()).toEqual([
      'client',
      'context',
      'open',
    ]);
    client.destroy();
    await engine.stop();
    await expect(portIsOpen(engine.endpoint)).resolves.toBe(false);
  });

  it('keeps every acknowledged write on its data folder although it is always killed hard', async () => {
    const dataDir = folder();
    const first = await startEngine({ dataDir });
    const { registry } = await createTables(first.endpoint);
    const client = new DynamoDBClient(localClient(first.endpoint));
    let acknowledged = -1;
    const stopped = vi.waitFor(() => expect(acknowledged).toBeGreaterThan(50), {
      timeout: 5_000,
      interval: 1,
    });
    void stopped.then(() => first.stop());
    try {
      for (let n = 0; n < 10_000; n += 1) {
        await client.send(
          new PutItemCommand({ TableName: registry, Item: { pk: { S: 'n' }, sk: { S: `${n}` } } }),
        );
        acknowledged = n;
      }
    } catch {
      // The engine was killed in the middle of a write.
    }
    client.destroy();
    expect(acknowledged).toBeGreaterThan(50);
    expect(acknowledged).toBeLessThan(9_999);

    const second = await startEngine({ dataDir });
    await createTables(second.endpoint);
    const again = new DynamoDBClient(localClient(second.endpoint));
    for (let n = 0; n <= acknowledged; n += 1) {
      const read = await again.send(
        new GetItemCommand({ TableName: registry, Key: { pk: { S: 'n' }, sk: { S: `${n}` } } }),
      );
      expect(read.Item).toBeDefined();
    }
    again.destroy();
    await second.stop();
  });

  it('does not outlive a host that was killed hard', async () => {
    const program = `
      const { startEngine } = await import(${JSON.stringify(new URL('../../infra/local/engine.ts', import.meta.url).href)});
      console.log((await startEngine()).endpoint);
      setInterval(() => {}, 1000);`;
    const host = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(host.stdout, 'data')) as [Buffer];
    const endpoint = line.toString().trim();
    expect(await portIsOpen(endpoint)).toBe(true);
    host.kill('SIGKILL');
    await vi.waitFor(async () => expect(await portIsOpen(endpoint)).toBe(false), {
      timeout: 3_000,
      interval: 20,
    });
    expect(processesWith(new URL(endpoint).port)).toBe('');
  });

  it('lets the program end that forgot to stop it', async () => {
    const program = `
      const { startEngine } = await import(${JSON.stringify(new URL('../../infra/local/engine.ts', import.meta.url).href)});
      console.log((await startEngine()).endpoint);`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 10_000 });
    const endpoint = out.toString().trim();
    await vi.waitFor(async () => expect(await portIsOpen(endpoint)).toBe(false), {
      timeout: 3_000,
      interval: 20,
    });
  });

  it('keeps a program that stops it alive until it is gone', () => {
    const program = `
      const { startEngine } = await import(${JSON.stringify(new URL('../../infra/local/engine.ts', import.meta.url).href)});
      await (await startEngine()).stop();
      console.log('stopped');`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 10_000 });
    expect(out.toString()).toBe('stopped\n');
  });

  it('uses the engine it is given and leaves it running, and says so when none answers there', async () => {
    const engine = await startEngine();
    const given = await startEngine({ endpoint: engine.endpoint });
    expect(given.endpoint).toBe(engine.endpoint);
    await given.stop();
    expect(await portIsOpen(engine.endpoint)).toBe(true);
    await engine.stop();
    await expect(startEngine({ endpoint: engine.endpoint })).rejects.toThrow(EngineUnavailable);
  });
});

function processesWith(port: string): string {
  return execFileSync('sh', ['-c', `ps -eo args | grep -- '--port ${port}' | grep -v grep || true`])
    .toString()
    .trim();
}
