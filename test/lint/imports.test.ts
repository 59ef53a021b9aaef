import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');

const REQUESTS = [
  "import { request } from 'undici';",
  "import Agent from 'undici/lib/dispatcher/agent.js';",
  "import { request } from 'node:http';",
  "import { request } from 'node:https';",
  "export { connect } from 'node:http2';",
  "export const late = () => import('undici');",
  "export const answer = fetch('https://example.com/');",
  "export const socket = new WebSocket('wss://example.com/');",
];
const AWS = [
  "import { DynamoDBClient } from '@aws-sdk/client-dynamodb';",
  "import type { AttributeValue } from '@aws-sdk/client-dynamodb';",
  "import type { Context } from 'aws-lambda';",
  "export const late = () => import('@smithy/core/protocols');",
];
const ZOD = ["import { z } from 'zod';", "import z from 'zod';"];
const FINE = ["import * as z from 'zod';", "import { isIP } from 'node:net';"];
const ADAPTERS = ['dynamodb', 'kms', 'sqs', 'lambda', 'cloudwatch', 'comprehend'].map(
  (end) => `shared/storage/probe-${end}`,
);

const probes = [...REQUESTS, ...AWS, ...ZOD, ...FINE];
const places = [
  'shared/tasks/probe',
  'shared/guard/probe',
  'functions/rpc/probe',
  'infra/local/probe',
  'test/probe',
];
let directory: string;
let reported: ReadonlySet<string>;

/** Each probe in each place, linted once with the repository's own rules. */
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'lint-'));
  const { $schema: _, vcs: __, ...config } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  writeFileSync(join(directory, 'biome.json'), JSON.stringify(config));
  for (const place of [...places, ...ADAPTERS]) {
    for (const code of probes) {
      const file = join(directory, probePath(place, code));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, code);
    }
  }
  const only = ['--only=style/noRestrictedImports', '--only=style/noRestrictedGlobals'];
  const options = [biome, 'lint', '--reporter=json', '--max-diagnostics=none', ...only, '.'];
  const { stdout } = spawnSync(process.execPath, options, { cwd: directory, encoding: 'utf8' });
  const { diagnostics }: { diagnostics: Diagnostic[] } = JSON.parse(stdout);
  const restricted = diagnostics.filter(({ category }) => category.startsWith('lint/style/noRestricted'));
  reported = new Set(restricted.map(({ location }) => location.path));
});

afterAll(() => rmSync(directory, { recursive: true }));

describe('the linter', () => {
  it.each(REQUESTS)('lets no request past the guard: %s', (code) => {
    for (const place of ['shared/tasks/probe', 'functions/rpc/probe', ...ADAPTERS]) {
      expect([place, isRefused(place, code)]).toEqual([place, true]);
    }
    for (const place of ['shared/guard/probe', 'infra/local/probe', 'test/probe']) {
      expect([place, isRefused(place, code)]).toEqual([place, false]);
    }
  });

  it.each(AWS)('keeps AWS out of the domain, and lets adapters have it: %s', (code) => {
    for (const place of ['shared/tasks/probe', 'shared/guard/probe']) {
      expect([place, isRefused(place, code)]).toEqual([place, true]);
    }
    for (const place of [...ADAPTERS, 'functions/rpc/probe', 'infra/local/probe', 'test/probe']) {
      expect([place, isRefused(place, code)]).toEqual([place, false]);
    }
  });

  it('lets nobody import zod by name', () => {
    for (const place of [...places, ...ADAPTERS]) {
      expect([place, ...ZOD.map((code) => isRefused(place, code))]).toEqual([place, true, true]);
      expect([place, ...FINE.map((code) => isRefused(place, code))]).toEqual([place, false, false]);
    }
  });
});

it('no file reaches for a client in a way the linter does not see', () => {
  const hidden =
    /\bglobal(?:This)?\s*(?:\??\.|\[['"])\s*(?:fetch|WebSocket|EventSource)\b|\bgetBuiltinModule\b/;
  const files = globSync(['shared/**/*.ts', 'functions/**/*.ts'], { cwd: root });
  expect(files.length).toBeGreaterThan(10);
  const guilty = files
    .filter((file) => !file.startsWith('shared/guard/'))
    .filter((file) => hidden.test(readFileSync(join(root, file), 'utf8')));
  expect(guilty).toEqual([]);
});

interface Diagnostic {
  readonly category: string;
  readonly location: { readonly path: string };
}

/** The number stands before the name, so that the ending that makes an adapter stays at the end. */
function probePath(place: string, code: string): string {
  return join(dirname(place), `p${probes.indexOf(code)}-${place.split('/').at(-1)}.ts`);
}

function isRefused(place: string, code: string): boolean {
  return reported.has(probePath(place, code));
}
