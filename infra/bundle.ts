import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSync, type Metafile } from 'esbuild';

/** Every Lambda of the gateway; each is `functions/<name>/handler.ts`, which exports `handler`. */
export const functionNames = [
  'rpc',
  'card',
  'executor',
  'projector',
  'projection-retry',
  'sweeper',
  'ceiling',
  'dead-letter',
  'delivery',
  'outbox-dead-letter',
  'callback',
  'reconciler',
  'admin',
] as const;
export type FunctionName = (typeof functionNames)[number];

/** `<file>.<export>` in a bundle's folder, as Lambda wants it named. */
export const BUNDLED_HANDLER = 'index.handler';

export interface Bundle {
  readonly name: FunctionName;
  /** Absolute; holds `index.mjs`, its source map, the licences of what was bundled, and `meta.json`. */
  readonly directory: string;
  /** Size of `index.mjs`, minified, without its source map. */
  readonly bytes: number;
  readonly metafile: Metafile;
}

const KILOBYTE = 1024;

/**
 * The most that a bundle may weigh (design §10): cold starts grow with it, and a schema library imported the wrong way
 * doubles it unnoticed. The executor carries the model SDKs and is excepted.
 */
export function sizeLimit(name: FunctionName): number | undefined {
  switch (name) {
    case 'rpc':
    case 'callback':
    case 'projector':
      return 600 * KILOBYTE;
    case 'executor':
      return undefined;
    default:
      return 900 * KILOBYTE;
  }
}

export function entryOf(name: FunctionName): string {
  return resolve(import.meta.dirname, '..', 'functions', name, 'handler.ts');
}

/**
 * Bundles functions into `<outDir>/<name>/`, synchronously, because the CDK builds its tree synchronously. Throws when
 * an entry is missing or does not bundle.
 */
export function bundleAll(
  outDir: string,
  names: readonly FunctionName[] = functionNames,
  entry: (name: FunctionName) => string = entryOf,
): Bundle[] {
  return names.map((name) => bundle(name, entry(name), resolve(outDir, name)));
}

function bundle(name: FunctionName, entry: string, directory: string): Bundle {
  if (!existsSync(entry)) throw new Error(`function ${name} has no entry ${entry}`);
  const built = buildSync({
    entryPoints: [entry],
    outfile: join(directory, 'index.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minify: true,
    // The ES module builds of the SDK's clients: three of them weigh 390 KB so, 629 KB by the default order.
    mainFields: ['module', 'main'],
    // What undici's own bundle in Node defines: without it an experimental parser comes along that is never used.
    define: { esbuildDetection: 'true' },
    // Its parser for machines without vector instructions, 72 KB, which is loaded where the other one does not compile;
    // Node 24 compiles it on each of Lambda's.
    external: ['*/llhttp/llhttp-wasm.js'],
    alias: { '@aws-sdk/credential-provider-node': resolve(import.meta.dirname, 'lambda-credentials.ts') },
    // CommonJS packages inside an ES module still ask for Node's own modules with `require`.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    // Positions only: traces name file and line, and the sources are not shipped.
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'external',
    metafile: true,
    logLevel: 'error',
  });
  const bytes = Object.entries(built.metafile.outputs).find(([path]) => path.endsWith('index.mjs'))?.[1]
    .bytes;
  if (bytes === undefined) throw new Error(`function ${name} left no bundle`);
  writeFileSync(join(directory, 'meta.json'), JSON.stringify(built.metafile));
  return { name, directory, bytes, metafile: built.metafile };
}

// `npm run bundle`: into dist/, with the sizes.
if (import.meta.main) {
  for (const { name, bytes } of bundleAll(resolve(import.meta.dirname, '..', 'dist'))) {
    const limit = sizeLimit(name);
    const bound = limit === undefined ? '' : ` of ${limit / KILOBYTE}`;
    console.log(`${name.padEnd(20)}${(bytes / KILOBYTE).toFixed(0).padStart(6)}${bound} KB`);
  }
}
