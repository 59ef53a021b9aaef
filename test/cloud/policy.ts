/** As much of IAM's evaluation as the stack's own policies use; an operator that it does not know is an error. */
export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

export interface Ask {
  readonly action: string;
  readonly resource: string;
  /** Condition keys of the request. */
  readonly context?: Readonly<Record<string, string | readonly string[]>>;
}

export function may(statements: readonly Statement[], ask: Ask): boolean {
  const applying = statements.filter((one) => applies(one, ask));
  return applying.some((one) => one.effect === 'Allow') && !applying.some((one) => one.effect === 'Deny');
}

function applies(statement: Statement, ask: Ask): boolean {
  return (
    statement.actions.some((pattern) => like(pattern, ask.action)) &&
    statement.resources.some((pattern) => like(pattern, ask.resource)) &&
    Object.entries(statement.conditions).every(([operator, keys]) =>
      Object.entries(keys).every(([key, wanted]) => holds(operator, [wanted].flat(), ask.context?.[key])),
    )
  );
}

function holds(
  operator: string,
  wanted: readonly string[],
  given: string | readonly string[] | undefined,
): boolean {
  const values = given === undefined ? [] : [given].flat();
  switch (operator) {
    case 'Null':
      return (values.length === 0) === (wanted[0] === 'true');
    case 'StringEquals':
      return values.some((value) => wanted.includes(value));
    case 'ForAllValues:StringEquals':
      return values.every((value) => wanted.includes(value));
    case 'ForAllValues:StringLike':
      return values.every((value) => wanted.some((pattern) => like(pattern, value)));
    default:
      throw new Error(`unknown operator ${operator}`);
  }
}

function like(pattern: string, value: string): boolean {
  const literal = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`, 's').test(value);
}
