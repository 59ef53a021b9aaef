/** Thrown when a command cannot be carried out. `message` is for people, `code` for programs; neither holds a secret. */
export class CommandFailure extends Error {
  readonly tag = 'CommandFailure';
  readonly code: string;
  readonly field: string | undefined;
  constructor(code: string, message: string, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}
