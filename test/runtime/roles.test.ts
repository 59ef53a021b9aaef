import { describe, expect, it } from 'vitest';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { hasFunction, hasTable, parseRoles, rolesOf } from '../../shared/runtime/roles.ts';

const both = { server: true, client: true };
const server = { server: true, client: false };
const client = { server: false, client: true };

describe('the roles', () => {
  it('are named by the words server and client, in any order, and by nothing else', () => {
    expect(parseRoles('server')).toEqual(server);
    expect(parseRoles('client')).toEqual(client);
    expect(parseRoles('client, server')).toEqual(both);
    for (const text of ['', 'none', 'server,', 'Server', 'server client']) {
      expect(parseRoles(text)).toBeUndefined();
    }
  });

  it('are told to a function by the tables that it knows', () => {
    const told = {
      SEALPOST_STATE_TABLE: 's',
      SEALPOST_VIEW_TABLE: 'v',
      SEALPOST_OUTBOX_TABLE: 'o',
      SEALPOST_DELEGATION_TABLE: 'd',
      SEALPOST_REGISTRY_TABLE: 'r',
    };
    const without = (name: keyof typeof told) => ({ ...told, [name]: undefined });
    expect(rolesOf(readEnvironment(told))).toEqual(both);
    expect(rolesOf(readEnvironment(without('SEALPOST_DELEGATION_TABLE')))).toEqual(server);
    expect(rolesOf(readEnvironment(without('SEALPOST_OUTBOX_TABLE')))).toEqual(client);
    expect(() => readEnvironment(without('SEALPOST_STATE_TABLE'))).toThrow(/SEALPOST_STATE_TABLE/);
  });

  it('have functions and tables of their own, beside those that work for both', () => {
    const own = (of: typeof both) =>
      ['rpc', 'card', 'delivery', 'outbox-dead-letter', 'callback', 'reconciler', 'executor', 'admin'].filter(
        (name) => hasFunction(of, name),
      );
    expect(own(server)).toEqual(['rpc', 'card', 'delivery', 'outbox-dead-letter', 'executor', 'admin']);
    expect(own(client)).toEqual(['callback', 'reconciler', 'executor', 'admin']);
    const tables = ['state', 'view', 'outbox', 'delegation', 'registry'] as const;
    expect(tables.filter((name) => hasTable(server, name))).not.toContain('delegation');
    expect(tables.filter((name) => hasTable(client, name))).not.toContain('outbox');
    expect(tables.filter((name) => hasTable(both, name))).toEqual(tables);
  });
});
