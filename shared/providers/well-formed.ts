/**
 * A value with every half of a surrogate pair replaced by U+FFFD: what is not Unicode cannot be sent as the protocol's
 * text, and a strict client could read neither the task nor a page of tasks that holds it.
 */
export function wellFormed<T>(value: T): T {
  return made(value) as T;
}

function made(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(made);
  // Anything but plain JSON is left for the check that refuses it.
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), made(member)]),
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
