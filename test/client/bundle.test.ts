import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

it('the client with all it stands on weighs little, and brings no cloud client and no SDK of the protocol', () => {
  const { metafile, outputFiles } = buildSync({
    entryPoints: [join(root, 'shared/client/index.ts')],
    absWorkingDir: root,
    outfile: 'client.mjs',
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    minify: true,
    mainFields: ['module', 'main'],
    logLevel: 'error',
  });
  const kilobytes = outputFiles[0]!.contents.byteLength / 1024;
  console.log(`client ${kilobytes.toFixed(0)} KB`);
  expect(kilobytes).toBeLessThan(160);
  const kept = Object.entries(Object.values(metafile.outputs)[0]!.inputs).filter(
    ([, part]) => part.bytesInOutput > 0,
  );
  const packages = kept.flatMap(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  expect([...new Set(packages)].sort()).toEqual(['canonicalize', 'jose', 'zod']);
});
