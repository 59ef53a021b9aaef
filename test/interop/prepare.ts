/*
 * Makes the virtual environment of the interoperability tests, before they run: they themselves may reach this machine
 * only. One that was made from the same requirements by the same Python is kept.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '.venv');
const requirements = join(import.meta.dirname, 'requirements.txt');
const python = join(folder, 'bin/python');
const stamp = join(folder, 'made-from');

const found = findPython();
const madeFrom = createHash('sha256').update(readFileSync(requirements)).update(found.version).digest('hex');
if (existsSync(python) && existsSync(stamp) && readFileSync(stamp, 'utf8') === madeFrom) process.exit(0);

console.error(`Making test/interop/.venv with Python ${found.version} …`);
rmSync(folder, { recursive: true, force: true });
run(found.command, ['-m', 'venv', folder], 'It needs the module venv (Debian and Ubuntu: python3-venv).');
const quiet = ['--quiet', '--no-input', '--disable-pip-version-check'];
run(python, ['-m', 'pip', 'install', ...quiet, '-r', requirements], 'It needs a package index (PyPI).');
writeFileSync(stamp, madeFrom);

/** The SDK needs 3.10. `PYTHON` names another one than `python3`. */
function findPython(): { readonly command: string; readonly version: string } {
  const given = process.env['PYTHON'];
  for (const command of given ? [given] : ['python3', 'python']) {
    const said = spawnSync(command, ['-c', 'import platform; print(platform.python_version())'], {
      encoding: 'utf8',
    });
    const [version, major, minor] = /^(\d+)\.(\d+)\.\S+/.exec(said.stdout ?? '') ?? [];
    if (version !== undefined && (Number(major) > 3 || Number(minor) >= 10)) return { command, version };
  }
  return giveUp(
    `No Python 3.10 or newer was found as ${given ?? '`python3` or `python`'}. ` +
      'The interoperability tests run the public Python SDK: install Python, or name it in the variable PYTHON.',
  );
}

function run(command: string, args: readonly string[], hint: string): void {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0) return;
  rmSync(folder, { recursive: true, force: true });
  giveUp(`\`${[command, ...args].join(' ')}\` failed. ${hint}`);
}

function giveUp(why: string): never {
  console.error(why);
  process.exit(1);
}
