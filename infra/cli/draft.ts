import { rows } from './commands.ts';
import { bare, barred, type Row, record } from './render.ts';

/**
 * A draft for the person who decides on it (design §7): everything that approving it releases, so names, descriptions,
 * metadata and addresses too. Content stands behind a bar, so that none of it looks like a line of ours. Of a file's bytes
 * only text is shown; of others their number, and how to get them.
 */
export function showDraft({ artifacts, message, ...rest }: Row): string {
  const lines = [
    ...rows(artifacts).flatMap((artifact, i) => section(`artifact ${i + 1}`, artifact)),
    ...(message === undefined ? [] : section('message', message as Row)),
  ];
  return `${record(rest)}\n${lines.join('\n')}\n`;
}

/** Members of the protocol that say nothing an approver decides on. */
const PLAIN = new Set(['parts', 'artifactId', 'messageId', 'contextId', 'taskId', 'role']);

function section(title: string, { parts, ...about }: Row): string[] {
  return [
    title,
    ...Object.entries(about).flatMap(([name, value]) => (PLAIN.has(name) ? [] : labelled(name, value))),
    ...rows(parts).flatMap(partLines),
  ];
}

function partLines({ text, data, raw, url, ...about }: Row): string[] {
  const more = Object.entries(about).flatMap(([name, value]) => labelled(name, value));
  if (typeof text === 'string') return ['  text', ...barred(text), ...more];
  if (typeof url === 'string') return ['  file at', ...barred(url), ...more];
  if (typeof raw === 'string') return [...fileLines(Buffer.from(raw, 'base64')), ...more];
  return ['  data', ...barred(JSON.stringify(data, undefined, 2)), ...more];
}

function fileLines(bytes: Buffer): string[] {
  const title = `  file of ${bytes.length} bytes`;
  const text = bytes.toString('utf8');
  const isText = !text.includes('\ufffd') && !/[^\P{Cc}\t\r\n]/u.test(text);
  return isText && bytes.length > 0
    ? [title, ...barred(text)]
    : [`${title}, no text; --json prints them (base64)`];
}

function labelled(name: string, value: unknown): string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  return [`  ${bare(name)}`, ...barred(text)];
}
