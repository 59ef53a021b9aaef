import { randomUUID } from 'node:crypto';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { localUserArn } from './gateway.ts';
import { type Handler, lambdaContext } from './lambda.ts';
import { type Administer, AdminRefused } from './seed.ts';

/** Carries out operations through the admin function, as `POST /admin` does. */
export function administerBy(admin: Handler): Administer {
  return async (operation, input = {}) => {
    const event = {
      resource: '/admin',
      path: '/admin',
      httpMethod: 'POST',
      headers: { 'content-type': 'application/json' },
      multiValueHeaders: { 'content-type': ['application/json'] },
      body: JSON.stringify({ operation, arguments: input }),
      isBase64Encoded: false,
      requestContext: { requestId: randomUUID(), path: '/admin', identity: { userArn: localUserArn } },
    };
    const result = (await admin(event, lambdaContext('admin', 300))) as APIGatewayProxyResult;
    const answer = JSON.parse(result.body) as {
      ok: boolean;
      result?: Record<string, unknown>;
      error?: { code: string; message: string };
    };
    if (answer.ok) return answer.result ?? {};
    throw new AdminRefused(
      operation,
      answer.error?.code ?? 'UNKNOWN',
      answer.error?.message ?? 'no reason given',
    );
  };
}
