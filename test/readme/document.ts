import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The README as the tests of this folder read it. */
export const root = join(import.meta.dirname, '../..');
export const readme = readFileSync(join(root, 'README.md'), 'utf8');

export interface Fence {
  /** `sh walk` say: the language, then what the fence is for. */
  readonly info: string;
  readonly text: string;
}

/** Every code block, in order. */
export const fences: readonly Fence[] = [...readme.matchAll(/^```([^\n`]+)\n(.*?)^```$/gms)].map(
  ([, info = '', text = '']) => ({ info, text }),
);

/** The rows of the table whose heading starts with these columns, each cell without its outer blanks. */
export function tableOf(...columns: readonly string[]): string[][] {
  const lines = readme.split('\n');
  const wanted = `| ${columns.join(' | ')} |`;
  const start = lines.findIndex((line) => line.startsWith(wanted) || line === wanted);
  if (start < 0) throw new Error(`the README has no table with the columns ${columns.join(', ')}`);
  const rows: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break;
    rows.push(
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

/** What a cell names in backquotes, in order. */
export function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
