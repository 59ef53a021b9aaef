import { Command, InvalidArgumentError } from 'commander';
import { parseRoles, type Roles } from '../../shared/runtime/roles.ts';
import type { Host } from './host.ts';
import { greeting, readyLine } from './ready-message.ts';

interface Flags {
  readonly data?: string;
  readonly port: number;
  readonly function?: Readonly<Record<string, string>>;
  readonly allowLoopback?: true;
  readonly roles?: Roles;
  readonly bundles?: string;
  readonly json?: true;
  readonly verbose?: true;
}

/** The output proper; everything else, what functions log and print included, goes to standard error. */
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;

const command = new Command('npm start --')
  .description('Run the whole gateway on this machine.')
  .option('--data <dir>', 'folder that keeps everything (default: in memory, gone at the end)')
  .option('--port <number>', 'port on 127.0.0.1, 0 for any free one', parsePort, 8080)
  .option(
    '--function <name=module>',
    'host a Lambda handler as a function provider; repeatable',
    parseFunction,
  )
  .option('--allow-loopback', 'let providers and webhooks be on this machine')
  .option('--roles <roles>', 'server, client, or both with a comma between (default: both)', readRoles)
  .option('--bundles <dir>', 'run the functions from bundles as they are deployed')
  .option('--json', 'print one line of JSON when ready, and nothing else')
  .option('--verbose', 'show everything that the functions log')
  .allowExcessArguments(false)
  .configureOutput({ writeOut: (text) => void print(text) })
  .parse();

await run(command.opts<Flags>());

async function run(flags: Flags): Promise<void> {
  // Before anything is loaded that reads them.
  process.env['POWERTOOLS_LOG_LEVEL'] ??= flags.verbose ? 'INFO' : 'WARN';
  if (!flags.verbose) process.env['POWERTOOLS_METRICS_DISABLED'] ??= 'true';
  const { startHost } = await import('./host.ts');
  const starting = startHost({
    port: flags.port,
    ...(flags.function && { functionModules: flags.function }),
    ...(flags.data !== undefined && { dataDir: flags.data }),
    ...(flags.allowLoopback && { allowLoopback: true }),
    ...(flags.roles && { roles: flags.roles }),
    ...(flags.bundles !== undefined && { bundles: flags.bundles }),
    onError: (name, error) =>
      console.error(`${name}: ${error instanceof Error ? error.stack : String(error)}`),
  });
  stopOnSignal(starting);
  try {
    const host = await starting;
    print(flags.json ? readyLine(host) : greeting(host, flags.data));
    void host.broken.then(() => fail(new Error('The DynamoDB engine ended unexpectedly.')));
  } catch (error) {
    fail(error);
  }
}

/** The first signal lets what is in flight end; the second one does not wait for it. */
function stopOnSignal(starting: Promise<Host>): void {
  let stopping = false;
  const stop = async () => {
    if (stopping) process.exit(1);
    stopping = true;
    const host = await starting.catch(() => undefined);
    await host?.stop();
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop());
}

/** What somebody can mend is told in a sentence; anything else with where it came from. */
function fail(error: unknown): void {
  const { code, port } = error as { readonly code?: string; readonly port?: number };
  const plain = new Set([
    'EngineUnavailable',
    'DataFolderInUse',
    'DataFolderUnusable',
    'FunctionModuleUnusable',
    'BundlesMissing',
  ]);
  if (code === 'EADDRINUSE')
    console.error(`Port ${port} is taken; choose another one with --port, or 0 for any.`);
  else if (error instanceof Error && plain.has(error.name)) console.error(error.message);
  else console.error(error);
  process.exit(1);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}

function readRoles(text: string): Roles {
  const roles = parseRoles(text);
  if (roles) return roles;
  throw new InvalidArgumentError('It must be server, client or server,client.');
}

function parseFunction(
  text: string,
  functions: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const [, name, path] = /^([a-z0-9][a-z0-9-]{0,62})=(.+)$/.exec(text) ?? [];
  if (name === 'echo')
    throw new InvalidArgumentError('The name echo is taken by the profile that is there from the start.');
  if (name !== undefined && path !== undefined) return { ...functions, [name]: path };
  throw new InvalidArgumentError('It must be <name>=<module>; names have small letters, digits and hyphens.');
}
