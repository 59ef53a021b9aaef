import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { CommandFailure } from './command-failure.ts';
import type { Surroundings } from './surroundings.ts';

/**
 * An administrator's file, JSON or YAML; `-` is the standard input. Throws `CommandFailure`, which names place and kind
 * of a mistake and quotes nothing: a file may hold a secret.
 */
export async function readInputFile(file: string, around: Surroundings): Promise<unknown> {
  const text = file === '-' ? await around.readInput() : await readText(file, around);
  const lineCounter = new LineCounter();
  // Every JSON text is YAML too.
  const document = parseDocument(text, { prettyErrors: false, lineCounter });
  const [mistake] = [...document.errors, ...document.warnings];
  if (mistake) {
    const { line, col } = lineCounter.linePos(mistake.pos[0]);
    throw unreadable(file, `${mistake.code} in line ${line}, column ${col}`);
  }
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: 100 });
  } catch {
    throw unreadable(file, 'its aliases cannot be resolved');
  }
  if (content === null || content === undefined) throw unreadable(file, 'it is empty');
  return content;
}

/** A secret as a file, or with `-` the standard input, holds it: the line end that editors put after it is no part of it. */
export async function readSecretFile(file: string, around: Surroundings): Promise<string> {
  const text = file === '-' ? await around.readInput() : await readText(file, around);
  return text.replace(/\r?\n$/, '');
}

async function readText(file: string, around: Surroundings): Promise<string> {
  try {
    return await readFile(resolve(around.folder, file), 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    throw new CommandFailure('FILE', `${file} cannot be read (${reason})`);
  }
}

function unreadable(file: string, reason: string): CommandFailure {
  return new CommandFailure(
    'FILE',
    `${file === '-' ? 'the input' : file} is neither JSON nor YAML: ${reason}`,
  );
}
