import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, it } from 'vitest';

/** Bytes that `rpc`, which redacts on the way out, can spare under its own gate (design §10). */
const MAX_BYTES = 60 * 1024;

it('the patterns and the walkers are small enough for every function', () => {
  const built = buildSync({
    stdin: {
      contents: "export { createPatternRedactor, redactContent, redactorByMethod } from './index.ts';",
      resolveDir: join(import.meta.dirname, '../../shared/redaction'),
    },
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minify: true,
    mainFields: ['module', 'main'],
    // Every function has the protocol already.
    external: ['../protocol/index.ts'],
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  expect(built.outputFiles[0]!.contents.byteLength).toBeLessThan(MAX_BYTES);
  expect(Object.keys(built.metafile.inputs).filter((path) => path.includes('@aws-sdk'))).toEqual([]);
});
