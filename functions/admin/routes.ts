import * as z from 'zod';
import { type Admin, type AdminError, describeFailure } from '../../shared/admin/index.ts';
import { check } from '../../shared/registry/index.ts';

/** What is read of an API Gateway REST proxy event on the IAM-signed route `POST /admin`. */
export interface AdminEvent {
  readonly body: string | null;
  readonly isBase64Encoded: boolean;
  readonly requestContext: {
    readonly requestId: string;
    readonly identity: { readonly userArn: string | null };
  };
}

export interface ProxyAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const command = z.strictObject({ operation: z.string(), arguments: z.exactOptional(z.unknown()) });

/**
 * `{"operation","arguments"}` → `{"ok":true,"result"}` or `{"ok":false,"error":{"code","message","field"?}}`. The actor
 * of the audit is the caller whom IAM authenticated; without one nothing is carried out.
 */
export function createRoute(admin: Admin): (event: AdminEvent) => Promise<ProxyAnswer> {
  return async (event) => {
    const actor = event.requestContext.identity.userArn;
    if (!actor)
      return refuse({
        code: 'UNAUTHENTICATED',
        message: 'the request is not signed by an administrator',
        status: 403,
      });
    const read = check(command, parseBody(event));
    if (read.kind === 'invalid')
      return refuse(describeFailure({ ...read, message: `the body is no command: ${read.message}` }));
    const answer = await admin.execute(read.value.operation, read.value.arguments, actor);
    return answer.kind === 'done'
      ? json(200, { ok: true, result: answer.result })
      : refuse(describeFailure(answer.failure));
  };
}

export function refuse({ status, ...error }: AdminError): ProxyAnswer {
  return json(status, { ok: false, error });
}

/** Undefined for what is no JSON: the parser's own message would quote the body, which may hold a secret (P10). */
function parseBody({ body, isBase64Encoded }: AdminEvent): unknown {
  try {
    return JSON.parse(isBase64Encoded ? Buffer.from(body ?? '', 'base64').toString('utf8') : (body ?? ''));
  } catch {
    return undefined;
  }
}

/** Tokens are answered here: no cache may keep them. */
function json(statusCode: number, body: object): ProxyAnswer {
  return {
    statusCode,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    body: JSON.stringify(body),
  };
}
