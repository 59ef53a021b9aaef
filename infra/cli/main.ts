import { text } from 'node:stream/consumers';
import { runCommandLine } from './program.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), {
  write: (output) => void process.stdout.write(output),
  writeError: (output) => void process.stderr.write(output),
  readInput: () => text(process.stdin),
  environment: process.env,
  folder: process.cwd(),
});
