import Table from 'cli-table3';

/** Results as people read them. Names and texts are data: control characters in them must not reach the terminal. */
export type Row = Readonly<Record<string, unknown>>;

const style = { head: [], border: [], compact: true };
/** Columns of the terminal that a value may take before it is wrapped. */
const WIDEST = 80;

/** One line a record; `columns` are fields, shown as headings. */
export function table(columns: readonly string[], rows: readonly Row[]): string {
  if (rows.length === 0) return 'none\n';
  const shown = new Table({ head: [...columns], style });
  for (const row of rows) shown.push(columns.map((column) => cell(row[column])));
  return `${shown.toString()}\n`;
}

/** One line a field, in the order in which the gateway answered them; lists of records follow as tables of their own. */
export function record(row: Row): string {
  const longest = Math.max(0, ...Object.values(row).map((value) => (isList(value) ? 0 : cell(value).length)));
  const width = longest > WIDEST ? { colWidths: [null, WIDEST], wordWrap: true } : {};
  const shown = new Table({ style, ...width });
  const lists: string[] = [];
  for (const [field, value] of Object.entries(row)) {
    if (isList(value)) lists.push(`${field}\n${table(columnsOf(value), value)}`);
    else shown.push([field, cell(value)]);
  }
  return [`${shown.toString()}\n`, ...lists].join('\n');
}

function isList(value: unknown): value is readonly Row[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((entry) => typeof entry === 'object' && entry !== null)
  );
}

function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(cell).join(', ');
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Line ends of a text stay; what would move the cursor, or the order in which text is read, does not. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, ' ').replaceAll(ORDERING, '\ufffd');
}

/** As `printable`, and what cannot be seen is named: for a text that somebody decides on. */
export function bare(text: string): string {
  return text.replaceAll(
    /[^\P{C}\t]|[\u2028\u2029]/gu,
    (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`,
  );
}

/** A text line by line behind a bar, so that none of it looks like a line of ours. */
export function barred(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `  | ${bare(line)}`);
}

/** Marks that turn the direction of the text behind them. */
const ORDERING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
