import { describe, expect, it } from 'vitest';
import { functionNames } from '../../infra/bundle.ts';
import { routes } from '../../shared/runtime/routes.ts';
import { readable, synthesise } from './synthesise.ts';

const SERVER_ONLY = ['rpc', 'card', 'delivery', 'outbox-dead-letter'];
const CLIENT_ONLY = ['callback', 'reconciler'];

/** What of the other role must not be found, as functions, table and words of what is built. */
describe.each([
  {
    roles: 'server',
    off: CLIENT_ONLY,
    table: 'Delegation',
    words: /delegation|callback|reconcil|inbox|dependenc|remote agent|RemoteFailure|RemoteAnswered/i,
    outputs: ['DelegationTable', 'InboxDeadLettersUrl'],
  },
  {
    roles: 'client',
    off: SERVER_ONLY,
    table: 'Outbox',
    words: /outbox|deliver|webhook|push(?!ed)|\bcard|ServerRole|RpcFunction/i,
    outputs: ['OutboxTable', 'OutboxDeadLettersUrl', 'Url', 'CardUrl'],
  },
])('a stack with the $roles role alone', ({ roles, off, table, words, outputs }) => {
  const stack = synthesise({ roles });
  const both = synthesise();
  const present = functionNames.filter((name) => !off.includes(name));

  it('has no function and no route of the other role', () => {
    expect(stack.ofType('AWS::Lambda::Function')).toHaveLength(present.length);
    for (const name of present) expect(stack.function(name)).toBeDefined();
    const own = routes.filter((route) => !off.includes(route.function));
    expect(stack.ofType('AWS::ApiGateway::Method')).toHaveLength(own.length);
  });

  it('leaves no resource behind that knows of the other role, but its table with what it held', () => {
    const kept = stack.ofType('AWS::DynamoDB::Table').filter(({ id }) => id.startsWith(`Tables${table}`));
    expect(kept).toHaveLength(1);
    const knowing = stack.resources
      .filter(({ id }) => id !== kept[0]!.id)
      .filter((resource) => words.test(JSON.stringify([resource.id, resource.properties])));
    expect(knowing.map(({ id }) => id)).toEqual([]);
  });

  it('lets nobody touch that table, and tells nobody of it', () => {
    const { id } = stack.ofType('AWS::DynamoDB::Table').find((one) => one.id.startsWith(`Tables${table}`))!;
    for (const name of present) {
      const resources = stack.statements(name).flatMap((statement) => statement.resources);
      expect(resources.filter((resource) => resource.startsWith(`<${id}.`))).toEqual([]);
      const { Variables } = stack.function(name).properties['Environment'];
      expect(Object.values(Variables).map(readable)).not.toContain(`<${id}>`);
    }
  });

  it('has the outputs of the other stack but those of the role, and nothing that cdk-nag finds', () => {
    const left = Object.keys(both.outputs).filter((name) => !outputs.includes(name));
    expect(Object.keys(stack.outputs).sort()).toEqual(left.sort());
    expect(stack.findings).toEqual([]);
  });
});
