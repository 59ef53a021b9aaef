import type { TableName } from '../storage/tables.ts';
import type { Environment } from './environment.ts';

/** The gateway's two roles (design, opening): each can be switched off alone. */
export const roleNames = ['server', 'client'] as const;
export type Role = (typeof roleNames)[number];
export type Roles = Readonly<Record<Role, boolean>>;

/** Functions that exist for one role only; every other one works for both. */
const functionRoles: Readonly<Record<string, Role>> = {
  rpc: 'server',
  card: 'server',
  delivery: 'server',
  'outbox-dead-letter': 'server',
  callback: 'client',
  reconciler: 'client',
};

/** Tables that hold what one role only is about. */
const tableRoles = { outbox: 'server', delegation: 'client' } as const satisfies Partial<
  Record<TableName, Role>
>;

/** Whether a function is deployed, and its routes and queues with it. */
export function hasFunction(roles: Roles, name: string): boolean {
  const role = functionRoles[name];
  return role === undefined || roles[role];
}

/** Whether functions may know of a table at all. */
export function hasTable(roles: Roles, name: TableName): boolean {
  return name !== 'outbox' && name !== 'delegation' ? true : roles[tableRoles[name]];
}

/** Told by the tables: a function whose role is off is not told the name of that role's table. */
export function rolesOf(
  environment: Pick<Environment, 'SEALPOST_OUTBOX_TABLE' | 'SEALPOST_DELEGATION_TABLE'>,
): Roles {
  return {
    server: environment.SEALPOST_OUTBOX_TABLE !== undefined,
    client: environment.SEALPOST_DELEGATION_TABLE !== undefined,
  };
}

/** `server`, `client` or both, comma-separated; `undefined`: it says none, or something else. */
export function parseRoles(text: string): Roles | undefined {
  const named = text.split(',').map((name) => name.trim());
  if (!named.every((name) => (roleNames as readonly string[]).includes(name))) return undefined;
  return { server: named.includes('server'), client: named.includes('client') };
}
