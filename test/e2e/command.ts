import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** A host that the real command started, in processes of its own. */
export interface Command extends AsyncDisposable {
  readonly url: string;
  readonly cardUrl: string;
  readonly token: string;
  /** From the start of the command until it said that it is ready, ms. */
  readonly readyAfterMs: number;
  /** What it printed on standard error so far. */
  errors(): string;
  /** kill -9, of everything that the command started in its group. */
  kill(): Promise<void>;
  /** As Ctrl-C does. Resolves when everything ended. */
  interrupt(): Promise<void>;
}

const withinMs = 20_000;

/** `npm start -s -- --json --port 0 …`; `direct` leaves npm out. Rejects with what it said when it does not get ready. */
export async function startCommand(
  flags: readonly string[] = [],
  options: { readonly direct?: boolean; readonly variables?: Readonly<Record<string, string>> } = {},
): Promise<Command> {
  const own = ['--json', '--port', '0', ...flags];
  const entry = join(root, 'infra/local/start.mjs');
  const [program, args] = options.direct
    ? [process.execPath, [entry, ...own]]
    : ['npm', ['start', '-s', '--', ...own]];
  const before = performance.now();
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, AWS_ENDPOINT_URL_DYNAMODB: '', ...options.variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: a kill reaches npm, its shell and the host alike.
    detached: true,
  });
  // Also when the test run itself is cut short.
  const takeAlong = () => signal(child, 'SIGKILL');
  process.once('exit', takeAlong);
  const exit = once(child, 'close').finally(() => process.off('exit', takeAlong));
  let [output, errors] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const kill = async () => {
    signal(child, 'SIGKILL');
    await exit;
  };
  try {
    const line = await new Promise<string>((resolve, reject) => {
      const giveUp = (why: string) => reject(new Error(`npm start ${why}: ${output}${errors}`));
      const timer = setTimeout(giveUp, withinMs, 'is not ready');
      void exit.then(([code]) => giveUp(`ended with ${code}`));
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (!output.includes('\n')) return;
        clearTimeout(timer);
        resolve(output);
      });
    });
    const ready = JSON.parse(line) as Pick<Command, 'url' | 'cardUrl' | 'token'>;
    return {
      ...ready,
      readyAfterMs: performance.now() - before,
      errors: () => errors,
      kill,
      async interrupt() {
        signal(child, 'SIGINT');
        await exit;
      },
      [Symbol.asyncDispose]: kill,
    };
  } catch (error) {
    await kill();
    throw error;
  }
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}
