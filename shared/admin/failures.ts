/** Why an operation was not carried out. Nothing was changed, unless it is `outcome-unknown`. */
export type AdminFailure =
  | { readonly kind: 'unknown-operation'; readonly known: readonly string[] }
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string }
  | { readonly kind: 'not-found'; readonly subject: Subject; readonly id: string }
  | { readonly kind: 'exists'; readonly subject: Subject; readonly id: string }
  /** Another administrator's edit came first. */
  | { readonly kind: 'conflict' }
  /** The input is right, the installation's state forbids it; `message` starts with the field, if there is one. */
  | { readonly kind: 'refused'; readonly field?: string; readonly message: string }
  | { readonly kind: 'outcome-unknown' };

export type Subject =
  | 'client'
  | 'profile'
  | 'provider'
  | 'agent'
  | 'profile or agent'
  | 'task'
  | 'approval'
  | 'run'
  | 'dependency'
  | 'push config'
  | 'push job';

/** A failure as administrators see it: a code to program against, a sentence to read. Neither holds a secret. */
export interface AdminError {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly status: number;
}

/** Every failure has its answer here: a new kind does not compile until somebody decided it. */
export function describeFailure(failure: AdminFailure): AdminError {
  switch (failure.kind) {
    case 'unknown-operation':
      return {
        code: 'UNKNOWN_OPERATION',
        message: `there is no such operation; known are ${failure.known.join(', ')}`,
        field: 'operation',
        status: 400,
      };
    case 'invalid':
      return { code: 'INVALID', message: failure.message, ...fieldOf(failure.field), status: 400 };
    case 'not-found':
      return {
        code: 'NOT_FOUND',
        message: `there is no ${failure.subject} "${failure.id}"`,
        field: 'id',
        status: 404,
      };
    case 'exists':
      return {
        code: 'EXISTS',
        message: `there is ${/^[aeiou]/.test(failure.subject) ? 'an' : 'a'} ${failure.subject} "${failure.id}" already`,
        field: 'id',
        status: 409,
      };
    case 'conflict':
      return {
        code: 'CONFLICT',
        message: 'another change of the same record came first; look at it and repeat the command',
        status: 409,
      };
    case 'refused':
      return { code: 'REFUSED', message: failure.message, ...fieldOf(failure.field), status: 422 };
    case 'outcome-unknown':
      return {
        code: 'OUTCOME_UNKNOWN',
        message:
          'the store or the key service did not answer in time; look whether the change was made, then repeat the command',
        status: 503,
      };
  }
}

function fieldOf(field: string | undefined): { field?: string } {
  return field ? { field } : {};
}
