import { randomUUID } from 'node:crypto';

/** A JSON-RPC call as a remote client makes it. */
export async function call(
  host: { readonly url: string; readonly token: string },
  method: string,
  params: object,
): Promise<{ status: number; body: RpcBody }> {
  const response = await fetch(`${host.url}/rpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${host.token}`,
      'a2a-version': '1.0',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return { status: response.status, body: (await response.json()) as RpcBody };
}

interface Task {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}
export interface RpcBody {
  readonly result?: { readonly task?: Task } & Partial<Task>;
  readonly error?: { readonly code: number; readonly message: string };
}

export const message = (text: string, tenant?: string) => ({
  ...(tenant && { tenant }),
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});

export const textOf = (task: Partial<Task> | undefined) => task?.artifacts?.[0]?.parts[0]?.text;
