import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of the test's own, gone at its end. */
export interface Folder extends Disposable {
  readonly path: string;
  /** Writes a module that exports `handler` with this body, and returns its path. */
  handler(name: string, body: string): string;
}

export function makeFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'sealpost-e2e-'));
  return {
    path,
    handler(name, body) {
      const file = join(path, `${name}.mjs`);
      writeFileSync(file, `export const handler = async (run) => {\n${body}\n};\n`);
      return file;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Asks for a colour, and completes with the answer and what was said before. */
export const asksForAColour = `
  if (run.history.length === 0) return { question: 'Which colour?' };
  const said = [...run.history, run.message].filter(({ role }) => role === 'ROLE_USER');
  return { artifacts: [{ name: 'order', text: said.map(({ parts }) => parts[0].text).join(', ') }] };`;

/** Two messages of progress, then the text it was sent. */
export const reportsProgress = `
  return {
    progress: ['one', 'two'],
    artifacts: [{ name: 'echo', text: run.message.parts[0].text }],
    message: 'done',
  };`;

/** Works until the file named in its message is there. */
export const waitsForAFile = `
  const { existsSync } = await import('node:fs');
  while (!existsSync(run.message.parts[0].text)) await new Promise((resolve) => setTimeout(resolve, 50));
  return { artifacts: [{ text: 'released' }] };`;
