import { describe, expect, it } from 'vitest';
import { type FunctionName, functionNames } from '../../infra/bundle.ts';
import { ADMIN_CLIENT } from '../../shared/runs/started.ts';
import { keys } from '../../shared/storage/keys.ts';
import { type Ask, may } from './policy.ts';
import { type Properties, readable, statement, synthesise } from './synthesise.ts';

const stack = synthesise();

const idOf = (type: string, start: string) => {
  const found = stack.ofType(type).filter(({ id }) => id.startsWith(start));
  if (found.length !== 1) throw new Error(`${found.length} resources ${type} ${start}`);
  return found[0]!.id;
};
const tableArn = {
  state: `<${idOf('AWS::DynamoDB::Table', 'TablesState')}.Arn>`,
  view: `<${idOf('AWS::DynamoDB::Table', 'TablesView')}.Arn>`,
  outbox: `<${idOf('AWS::DynamoDB::Table', 'TablesOutbox')}.Arn>`,
  delegation: `<${idOf('AWS::DynamoDB::Table', 'TablesDelegation')}.Arn>`,
  registry: `<${idOf('AWS::DynamoDB::Table', 'TablesRegistry')}.Arn>`,
} as const;
const keyId = {
  data: idOf('AWS::KMS::Key', 'SealingKeysDataKey'),
  card: idOf('AWS::KMS::Key', 'ServerRoleCardKey'),
  table: idOf('AWS::KMS::Key', 'TablesKey'),
};

const allowed = (name: FunctionName, ask: Ask) => may(stack.statements(name), ask);
const onTable = (name: FunctionName, action: string, table: keyof typeof tableArn, partition = 'T#1') =>
  allowed(name, {
    action: `dynamodb:${action}`,
    resource: tableArn[table],
    context: { 'dynamodb:LeadingKeys': [partition] },
  });
const withDataKey = (name: FunctionName, action: string, context: Record<string, string>) =>
  allowed(name, {
    action: `kms:${action}`,
    resource: `<${keyId.data}.Arn>`,
    context: {
      ...Object.fromEntries(
        Object.entries(context).map(([key, value]) => [`kms:EncryptionContext:${key}`, value]),
      ),
      'kms:EncryptionContextKeys': Object.keys(context),
    },
  });
const bound = (purpose: string) => ({ client: 'acme', purpose, epoch: '202612' });

describe('the role of each function', () => {
  it('holds no managed policy', () => {
    for (const { properties } of stack.ofType('AWS::IAM::Role')) {
      expect(properties['ManagedPolicyArns']).toBeUndefined();
    }
    expect(stack.ofType('AWS::IAM::ManagedPolicy')).toEqual([]);
  });

  it('is its own', () => {
    const roles = functionNames.map((name) => JSON.stringify(stack.function(name).properties['Role']));
    expect(new Set(roles).size).toBe(functionNames.length);
  });

  it('names every resource, but for calls that know none', () => {
    const anywhere = functionNames.flatMap((name) =>
      stack
        .statements(name)
        .filter(({ resources }) => resources.some((resource) => resource.includes('*')))
        .flatMap(({ actions }) => actions),
    );
    expect([...new Set(anywhere)].sort()).toEqual([
      'comprehend:DetectPiiEntities',
      'dynamodb:ListStreams',
      'xray:PutTelemetryRecords',
      'xray:PutTraceSegments',
    ]);
  });

  it('has no wildcard among its actions', () => {
    const actions = functionNames.flatMap((name) => stack.statements(name).flatMap((one) => one.actions));
    expect(actions.filter((action) => action.includes('*'))).toEqual([]);
  });

  it('reads and writes its own tables only', () => {
    const anyPartition = [
      'T#1',
      'client',
      'profile',
      keys.rate('acme', 1).pk,
      keys.dataKey('acme', 'content', '').pk,
      'audit#202612',
      ...['agent', 'job', keys.approval('1').pk, keys.message('1', 1, 'a', 0).pk],
      ...[keys.working('1', 'a.turn', 0).pk, keys.dependency('1', '').pk, keys.registration('1').pk],
    ];
    const touches = (name: FunctionName, action: string) =>
      (Object.keys(tableArn) as (keyof typeof tableArn)[])
        .filter((table) => anyPartition.some((partition) => onTable(name, action, table, partition)))
        .join(' ');
    const matrix = Object.fromEntries(
      functionNames.map((name) => [
        name,
        {
          get: touches(name, 'GetItem'),
          put: touches(name, 'PutItem'),
          update: touches(name, 'UpdateItem'),
          delete: touches(name, 'DeleteItem'),
          scan: touches(name, 'Scan'),
        },
      ]),
    );
    const none = { get: '', put: '', update: '', delete: '', scan: '' };
    const most = 'state view outbox registry';
    const purged = 'state view outbox delegation';
    expect(matrix).toEqual({
      rpc: {
        get: 'state view registry',
        put: most,
        update: 'state outbox delegation registry',
        delete: 'state outbox registry',
        scan: '',
      },
      card: { ...none, get: 'registry' },
      executor: {
        get: 'state view registry',
        put: 'state view outbox delegation registry',
        update: 'state outbox delegation',
        delete: 'state',
        scan: '',
      },
      projector: { ...none, get: 'state view', put: 'view outbox' },
      'projection-retry': { ...none, get: 'state view', put: 'view outbox' },
      sweeper: {
        get: 'state view outbox',
        put: 'state view outbox',
        update: 'state outbox delegation',
        delete: purged,
        scan: '',
      },
      ceiling: {
        get: 'state view registry',
        put: most,
        update: 'state outbox delegation',
        delete: purged,
        scan: '',
      },
      'dead-letter': {
        get: 'state view',
        put: 'state view outbox',
        update: 'state outbox delegation',
        delete: purged,
        scan: '',
      },
      delivery: { ...none, get: most, put: 'outbox registry', update: 'state outbox' },
      'outbox-dead-letter': { ...none, get: 'outbox', update: 'outbox' },
      callback: { ...none, get: 'delegation', update: 'delegation' },
      reconciler: {
        get: 'state view delegation registry',
        put: 'state view outbox delegation',
        update: 'state outbox delegation',
        delete: 'state',
        scan: '',
      },
      admin: {
        get: 'state view outbox delegation registry',
        put: most,
        update: 'state outbox delegation',
        delete: `${purged} registry`,
        scan: 'state',
      },
    });
  });

  it('lets nobody delete heads and revisions but those that purge', () => {
    const deletes = (partition: string) =>
      functionNames.filter((name) => onTable(name, 'DeleteItem', 'state', partition));
    const purging: FunctionName[] = ['sweeper', 'ceiling', 'dead-letter', 'admin'];
    const also = (...names: FunctionName[]) =>
      functionNames.filter((name) => [...purging, ...names].includes(name));
    expect(deletes(keys.head('1').pk)).toEqual(also());
    // Nobody waits for a person any more.
    expect(deletes(keys.approval('1').pk)).toEqual(also('rpc', 'executor', 'reconciler'));
    // A copy that was replaced by a redacted one.
    expect(deletes(keys.message('1', 1, 'a', 0).pk)).toEqual(also('executor'));
    expect(deletes(keys.result('1', 'r', 'a', 0).pk)).toEqual(also('executor'));
    // A callback credential that was acknowledged.
    expect(deletes(keys.working('1', 'w.cred.1', 0).pk)).toEqual(also('reconciler'));
  });

  it('lets administrators forget remote agents, and nothing else of the registry', () => {
    const deletes = (partition: string) =>
      functionNames.filter((name) => onTable(name, 'DeleteItem', 'registry', partition));
    expect(deletes('agent')).toEqual(['admin']);
    for (const partition of ['audit#202612', 'client', 'profile', 'provider', 'settings', 'job'])
      expect(deletes(partition)).toEqual([]);
  });

  it('lets callback count signals on its registrations, and see nothing else', () => {
    const partitions = [keys.registration('r').pk, keys.dependency('1', '').pk, keys.openRegistrations().pk];
    const may = (action: string) =>
      partitions.filter((partition) => onTable('callback', action, 'delegation', partition));
    expect(may('GetItem')).toEqual(['R#r']);
    expect(may('UpdateItem')).toEqual(['R#r']);
    for (const action of ['Query', 'Scan', 'PutItem', 'DeleteItem']) expect(may(action)).toEqual([]);
  });

  it('lets rpc hand a reply to a dependency, and touch no callback address', () => {
    expect(onTable('rpc', 'UpdateItem', 'delegation', keys.dependency('1', '').pk)).toBe(true);
    expect(onTable('rpc', 'UpdateItem', 'delegation', keys.registration('r').pk)).toBe(false);
  });

  it('shows remote agents to those only that run, reconcile, tighten and administer', () => {
    const readers = functionNames.filter((name) => onTable(name, 'GetItem', 'registry', keys.agent('a').pk));
    expect(readers).toEqual(['executor', 'ceiling', 'reconciler', 'admin']);
  });

  it('lets those redact by Amazon Comprehend that write or show what is kept redacted', () => {
    const redacting = functionNames.filter((name) =>
      allowed(name, { action: 'comprehend:DetectPiiEntities', resource: '*' }),
    );
    expect(redacting).toEqual(['rpc', 'executor', 'ceiling', 'delivery', 'reconciler', 'admin']);
  });

  it('fits into what IAM takes of a role', () => {
    for (const name of functionNames) {
      const role = readable(stack.function(name).properties['Role']).replace(/^<|\.Arn>$/g, '');
      const held = stack
        .ofType('AWS::IAM::Policy')
        .filter(({ properties }) => properties['Roles'].some((one: Properties) => one['Ref'] === role))
        .map(({ properties }) => JSON.stringify(properties['PolicyDocument']).length);
      // Inline policies, together; references in the template are about as long as the ARNs that they become.
      expect(
        held.reduce((sum, length) => sum + length, 0),
        name,
      ).toBeLessThan(10_240);
    }
  });

  it('lets rpc count, keep data keys and add to the audit in the registry, and change nothing else there', () => {
    expect(onTable('rpc', 'PutItem', 'registry', keys.audit(Date.UTC(2026, 11), '').pk)).toBe(true);
    expect(onTable('rpc', 'UpdateItem', 'registry', keys.audit(Date.UTC(2026, 11), '').pk)).toBe(false);
    expect(onTable('rpc', 'DeleteItem', 'registry', keys.audit(Date.UTC(2026, 11), '').pk)).toBe(false);
    for (const partition of ['client', 'profile', 'provider', 'settings']) {
      expect(onTable('rpc', 'PutItem', 'registry', partition)).toBe(false);
      expect(onTable('rpc', 'UpdateItem', 'registry', partition)).toBe(false);
      expect(onTable('rpc', 'DeleteItem', 'registry', partition)).toBe(false);
    }
    expect(onTable('rpc', 'UpdateItem', 'registry', keys.rate('acme', 1).pk)).toBe(true);
    expect(onTable('rpc', 'DeleteItem', 'registry', keys.stream('acme', 's').pk)).toBe(true);
    expect(onTable('rpc', 'PutItem', 'registry', keys.dataKey('acme', 'content', '202612').pk)).toBe(true);
    expect(onTable('rpc', 'DeleteItem', 'registry', keys.dataKey('acme', 'content', '202612').pk)).toBe(
      false,
    );
    expect(onTable('rpc', 'PutItem', 'registry', keys.dataKey('acme', 'secret', '202612').pk)).toBe(false);
  });

  it('lets delivery read what it needs to know of the registry and add to the audit, and nothing else there', () => {
    const partitions = [
      'client',
      'profile',
      'provider',
      'settings',
      keys.audit(Date.UTC(2026, 11), '').pk,
      keys.rate('acme', 1).pk,
      ...['content', 'push', 'working', 'secret', 'dedup'].map(
        (purpose) => keys.dataKey('acme', purpose, '').pk,
      ),
    ];
    const may = (action: string) =>
      partitions.filter((partition) => onTable('delivery', action, 'registry', partition));
    expect(may('GetItem')).toEqual([
      'client',
      'profile',
      'provider',
      'settings',
      'key#acme#content',
      'key#acme#push',
    ]);
    expect(may('PutItem')).toEqual(['audit#202612']);
    expect(may('Query')).toEqual([]);
    expect(may('UpdateItem')).toEqual([]);
    expect(may('DeleteItem')).toEqual([]);
  });

  it('shows the audit to admin only', () => {
    const readers = functionNames.filter((name) =>
      ['GetItem', 'BatchGetItem', 'Query', 'Scan'].some((action) =>
        onTable(name, action, 'registry', keys.audit(Date.UTC(2026, 11), '').pk),
      ),
    );
    expect(readers).toEqual(['admin']);
  });

  it('shows clients, token hashes included, to those only that authenticate them or call their webhooks', () => {
    const readers = functionNames.filter((name) =>
      onTable(name, 'GetItem', 'registry', keys.client('acme').pk),
    );
    expect(readers).toEqual(['rpc', 'delivery', 'admin']);
  });

  it('covers every index that its function queries, and no other', () => {
    const indexes = Object.fromEntries(
      functionNames.map((name) => [
        name,
        stack
          .statements(name)
          .flatMap(({ resources }) => resources)
          .filter((resource) => resource.includes('/index/'))
          .map((resource) => resource.split('/index/')[1])
          .sort()
          .join(' '),
      ]),
    );
    expect(indexes).toEqual({
      rpc: 'client context open',
      card: '',
      executor: 'context',
      projector: '',
      'projection-retry': '',
      sweeper: 'due due due',
      ceiling: 'due',
      'dead-letter': '',
      delivery: '',
      'outbox-dead-letter': '',
      callback: '',
      reconciler: '',
      admin: 'due due halted',
    });
  });

  it('lets each function send to the queues of what it moves, and only the projector to its retry queue', () => {
    const senders = (name: string) => {
      const queues = stack.ofType('AWS::SQS::Queue');
      const { id } = queues.find(({ properties }) => properties['QueueName'] === `Sealpost-${name}`)!;
      const resource = `<${id}.Arn>`;
      return functionNames.filter((name) => allowed(name, { action: 'sqs:SendMessage', resource }));
    };
    const still = ['card', 'ceiling', 'delivery', 'outbox-dead-letter', 'callback'];
    expect(senders('runs')).toEqual(functionNames.filter((name) => !still.includes(name)));
    expect(senders('outbox')).toEqual(['projector', 'projection-retry', 'sweeper', 'delivery', 'admin']);
    expect(senders('inbox')).toEqual([
      'executor',
      'projector',
      'projection-retry',
      'sweeper',
      'callback',
      'reconciler',
      'admin',
    ]);
    expect(senders('projections')).toEqual(['projector']);
    expect(senders('projections-lost')).toEqual(['projector']);
  });
});

describe('the sealing key', () => {
  it('is beyond the reach of projector, projection-retry, sweeper, the dead-letter functions, card and callback', () => {
    const users = functionNames.filter((name) =>
      stack.statements(name).some(({ resources }) => resources.includes(`<${keyId.data}.Arn>`)),
    );
    const opening = ['rpc', 'executor', 'ceiling', 'delivery', 'reconciler', 'admin'];
    expect(users).toEqual(opening);
    const ofKms = functionNames.filter((name) =>
      stack.statements(name).some(({ actions }) => actions.includes('kms:Decrypt')),
    );
    expect(ofKms).toEqual(opening);
  });

  it('opens for each function only what its purpose is', () => {
    const uses = (name: FunctionName, action: string) =>
      ['content', 'working', 'push', 'secret', 'dedup'].filter((purpose) =>
        withDataKey(name, action, bound(purpose)),
      );
    const both = (name: FunctionName) => [uses(name, 'GenerateDataKey'), uses(name, 'Decrypt')];
    const served = ['content', 'working', 'push', 'dedup'];
    expect(both('rpc')).toEqual([served, served]);
    expect(both('delivery')).toEqual([[], ['content', 'push']]);
    expect(both('executor')).toEqual([
      ['content', 'working'],
      ['content', 'working', 'secret'],
    ]);
    const kept = ['content', 'working'];
    expect(both('ceiling')).toEqual([kept, kept]);
    expect(both('reconciler')).toEqual([[], ['content', 'working', 'secret']]);
    expect(both('admin')).toEqual([['secret'], ['working', 'secret']]);
  });

  it('opens for administrators drafts and runs of their own, and nothing else that a task holds', () => {
    const own = { ...bound('content'), client: ADMIN_CLIENT };
    expect(withDataKey('admin', 'GenerateDataKey', own)).toBe(true);
    expect(withDataKey('admin', 'Decrypt', own)).toBe(true);
    expect(withDataKey('admin', 'Decrypt', bound('content'))).toBe(false);
    expect(withDataKey('admin', 'GenerateDataKey', bound('working'))).toBe(false);
  });

  it('needs the whole encryption context and nothing besides', () => {
    expect(withDataKey('rpc', 'Decrypt', bound('content'))).toBe(true);
    expect(withDataKey('rpc', 'Decrypt', {})).toBe(false);
    expect(withDataKey('rpc', 'Decrypt', { purpose: 'content' })).toBe(false);
    expect(withDataKey('rpc', 'Decrypt', { purpose: 'content', client: 'acme' })).toBe(false);
    expect(withDataKey('rpc', 'Decrypt', { ...bound('content'), more: 'x' })).toBe(false);
  });

  it('says the same in its own policy, to exactly those roles, and keeps the account itself from using it', () => {
    const policy = stack.resources.find(({ id }) => id === keyId.data)!.properties['KeyPolicy'];
    const statements = policy.Statement as Properties[];
    const [administers, ...uses] = statements;
    expect(JSON.stringify(administers!['Principal'])).toContain(':root');
    const forbidden = [
      'kms:Decrypt',
      'kms:GenerateDataKey',
      'kms:Encrypt',
      'kms:CreateGrant',
      'kms:ReEncryptFrom',
    ];
    for (const action of forbidden) {
      expect(may([statement(administers!)], { action, resource: '*' })).toBe(false);
    }
    for (const use of uses) {
      expect(JSON.stringify(use['Principal'])).toMatch(/Rpc|Executor|Ceiling|Delivery|Reconciler|Admin/);
      expect(use['Condition'].StringEquals['kms:EncryptionContext:purpose']).not.toHaveLength(0);
    }
    // Executor and ceiling share one.
    expect(uses).toHaveLength(8);
  });

  it('rotates, as does the key of the tables', () => {
    for (const id of [keyId.data, keyId.table]) {
      const { properties, deletionPolicy } = stack.resources.find((resource) => resource.id === id)!;
      expect(properties['EnableKeyRotation']).toBe(true);
      expect(deletionPolicy).toBe('Retain');
    }
  });
});

describe('the key of the tables', () => {
  it('stands in no role, and works only through DynamoDB, for the account itself', () => {
    const named = functionNames.filter((name) =>
      JSON.stringify(stack.statements(name)).includes(keyId.table),
    );
    expect(named).toEqual([]);
    const policy = stack.resources.find(({ id }) => id === keyId.table)!.properties['KeyPolicy'];
    const through = (policy.Statement as Properties[]).find(
      (one) => one['Sid'] === 'UsedThroughTheTablesOnly',
    )!;
    expect(Object.keys(through['Condition'].StringEquals).sort()).toEqual([
      'kms:CallerAccount',
      'kms:ViaService',
    ]);
    const others = (policy.Statement as Properties[]).filter((one) => one !== through).map(statement);
    expect(may(others, { action: 'kms:Decrypt', resource: '*' })).toBe(false);
  });
});

describe('the card key', () => {
  it('signs with ES256 for card and rpc only', () => {
    const signers = functionNames.filter((name) =>
      allowed(name, {
        action: 'kms:Sign',
        resource: `<${keyId.card}.Arn>`,
        context: { 'kms:SigningAlgorithm': 'ECDSA_SHA_256', 'kms:MessageType': 'DIGEST' },
      }),
    );
    expect(signers).toEqual(['rpc', 'card']);
    const { properties } = stack.resources.find(({ id }) => id === keyId.card)!;
    expect(properties).toMatchObject({ KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' });
  });

  it('is not made when cards are not signed', () => {
    const unsigned = synthesise({ signCards: 'false' });
    expect(unsigned.ofType('AWS::KMS::Key')).toHaveLength(2);
    expect(unsigned.function('card').properties['Environment'].Variables).not.toHaveProperty(
      'SEALPOST_CARD_KEY',
    );
  });
});

describe('providers', () => {
  it('reach no function and no model that the deployment did not name', () => {
    const actions = stack.statements('executor').flatMap((one) => one.actions);
    expect(actions.filter((action) => /^(lambda|bedrock):/.test(action))).toEqual([]);
  });

  it('reach the functions and models that it names, from the executor alone', () => {
    const named = synthesise({
      functionProviders: 'agents-*, one',
      bedrockModels: ['amazon.nova-lite-v1:0', 'eu.anthropic.claude-x'],
    });
    const here = '<AWS::Region>:<AWS::AccountId>';
    const can = (name: FunctionName, action: string, resource: string) =>
      may(named.statements(name), { action, resource: `arn:<AWS::Partition>:${resource}` });
    expect(can('executor', 'lambda:InvokeFunction', `lambda:${here}:function:agents-x`)).toBe(true);
    expect(can('executor', 'lambda:InvokeFunction', `lambda:${here}:function:one`)).toBe(true);
    expect(can('executor', 'lambda:InvokeFunction', `lambda:${here}:function:two`)).toBe(false);
    expect(can('rpc', 'lambda:InvokeFunction', `lambda:${here}:function:one`)).toBe(false);
    const model = (id: string, region = '<AWS::Region>') => `bedrock:${region}::foundation-model/${id}`;
    expect(can('executor', 'bedrock:InvokeModel', model('amazon.nova-lite-v1:0'))).toBe(true);
    expect(can('executor', 'bedrock:InvokeModel', model('amazon.nova-pro-v1:0'))).toBe(false);
    expect(can('executor', 'bedrock:InvokeModel', model('anthropic.claude-x', 'eu-north-1'))).toBe(true);
    expect(
      can('executor', 'bedrock:InvokeModel', `bedrock:${here}:inference-profile/eu.anthropic.claude-x`),
    ).toBe(true);
    expect(named.findings).toEqual([]);
  });
});
