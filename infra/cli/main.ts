import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { runCommandLine } from './program.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), {
  write: (output) => void process.stdout.write(output),
  writeError: (output) => void process.stderr.write(output),
  readInput: () => text(process.stdin),
  environment: process.env,
  folder: process.cwd(),
  ...(process.stdin.isTTY && process.stderr.isTTY ? { terminal: { confirm } } : {}),
});

async function confirm(question: string): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
