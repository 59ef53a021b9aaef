/** One server-sent event to write. */
export interface SseOutput {
  readonly data: string;
  readonly id?: string;
  readonly event?: string;
  readonly retryMs?: number;
}

/**
 * The bytes of one event, as text, with the blank line that readers need also after the last one. Data is split on
 * every line end. Throws a RangeError when `id` or `event` holds CR, LF or (for `id`) NUL: such a value would
 * forge lines.
 */
export function encodeSse({ data, id, event, retryMs }: SseOutput): string {
  let text = '';
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (retryMs !== undefined) text += `retry: ${Math.max(0, Math.trunc(retryMs))}\n`;
  for (const line of data.split(LINE_END)) text += `data: ${line}\n`;
  return `${text}\n`;
}

/** A comment, which readers skip: keeps an idle stream open (one every 15 s, design §5). */
export function encodeSseComment(comment: string): string {
  return `${comment
    .split(LINE_END)
    .map((line) => `: ${line}`)
    .join('\n')}\n\n`;
}

const LINE_END = /\r\n|\r|\n/;

function oneLine(value: string): string {
  if (/[\r\n\0]/.test(value)) throw new RangeError('an SSE id or event name must stand on one line');
  return value;
}
