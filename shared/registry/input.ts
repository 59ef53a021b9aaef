import type * as z from 'zod';

/** What is wrong with an administrator's input: the first field at fault, and a sentence that names up to five. */
export interface InvalidInput {
  readonly field: string;
  readonly message: string;
}
export type Checked<T> =
  | { readonly kind: 'valid'; readonly value: T }
  | ({ readonly kind: 'invalid' } & InvalidInput);

const MOST_NAMED = 5;

/**
 * Checks `input` and says what is wrong as `providers[0]: must be a string`. No value of the input is repeated, since
 * any of them may be a secret (P10).
 */
export function check<T>(schema: z.ZodType<T>, input: unknown): Checked<T> {
  const read = schema.safeParse(input);
  if (read.success) return { kind: 'valid', value: read.data };
  const faults = read.error.issues.flatMap((issue) => faultsOf(issue, input));
  const named = faults.slice(0, MOST_NAMED).map(({ field, fault }) => (field ? `${field}: ${fault}` : fault));
  const more = faults.length > MOST_NAMED ? [`and ${faults.length - MOST_NAMED} more`] : [];
  return { kind: 'invalid', field: faults[0]?.field ?? '', message: [...named, ...more].join('; ') };
}

/** `['extensions', 0, 'uri']` as `extensions[0].uri`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, step) => {
    if (typeof step === 'number') return `${field}[${step}]`;
    // A name of the input's own that is no plain name is cut: it may be anything.
    const name = String(step)
      .replaceAll(/[^A-Za-z0-9_-]/g, '?')
      .slice(0, 40);
    return field === '' ? name : `${field}.${name}`;
  }, '');
}

type Issue = z.core.$ZodIssue;

function faultsOf(issue: Issue, input: unknown): { field: string; fault: string }[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: fieldPath([...issue.path, key]),
      fault: 'is not a known field',
    }));
  return [{ field: fieldPath(issue.path), fault: faultOf(issue, input) }];
}

function faultOf(issue: Issue, input: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (isMissing(issue.path, input)) return 'is missing';
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return isMissing(issue.path, input)
        ? 'is missing'
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_union':
      return isMissing(issue.path, input) ? 'is missing' : issue.message;
    case 'too_small':
      return `must ${bound(issue.origin, `at least ${issue.minimum}`)}`;
    case 'too_big':
      return `must ${bound(issue.origin, `at most ${issue.maximum}`)}`;
    default:
      // Ours: every pattern and refinement of the schemas has a message of its own.
      return issue.message;
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object with named fields',
};

function bound(origin: string, limit: string): string {
  if (origin === 'string') return `have ${limit} characters`;
  if (origin === 'array') return `have ${limit} entries`;
  return `be ${limit}`;
}

function isMissing(path: readonly PropertyKey[], input: unknown): boolean {
  let value: unknown = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return false;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value === undefined;
}
