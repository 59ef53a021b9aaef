/**
 * What a decode passed over without refusing it, for the caller to log. Names come from a peer: they are cut to 64
 * characters of `[A-Za-z0-9_.-]`, so they can stand in a log.
 */
export interface Notice {
  readonly kind:
    | 'unknown-part'
    | 'unknown-state'
    | 'unknown-role'
    | 'unreadable-timestamp'
    | 'unknown-member';
  /** camelCase path, as in violations. */
  readonly path: string;
  readonly name: string;
}

/** A result that also says what was passed over. */
export type Decoded<T, E> =
  | { readonly ok: true; readonly value: T; readonly notices: readonly Notice[] }
  | { readonly ok: false; readonly error: E };

/** Stands in a decoded value, inside this folder only, where the peer said something this version cannot read. */
export class Unread {
  readonly kind: Notice['kind'];
  readonly name: string;

  constructor(kind: Notice['kind'], name: unknown) {
    this.kind = kind;
    this.name = safeName(name);
  }
}

export function safeName(name: unknown): string {
  if (typeof name !== 'string' && typeof name !== 'number') return '?';
  return (
    String(name)
      .slice(0, 64)
      .replace(/[^A-Za-z0-9_.-]/g, '?') || '?'
  );
}

/** `['message', 'parts', 0, 'raw']` → `message.parts[0].raw`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? safeName(step) : `.${safeName(step)}`;
  }
  return text;
}
