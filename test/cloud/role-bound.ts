import type { FunctionName } from '../../infra/bundle.ts';
import type { InboxMessage } from '../../shared/delegation/services.ts';
import type { OutboxMessage } from '../../shared/push/services.ts';
import { createPatternRedactor, redactorByMethod } from '../../shared/redaction/index.ts';
import type { Seams } from '../../shared/runtime/compose.ts';
import type { KeyContext, KeyService, RunMessage, WorkQueue } from '../../shared/runtime/ports.ts';
import type { Action, Key, QueryInput, Store } from '../../shared/storage/port.ts';
import type { TableName } from '../../shared/storage/tables.ts';
import { type Ask, may } from './policy.ts';
import type { Synthesised } from './synthesise.ts';

/** What the role of a function was asked for, in the words of IAM. */
export interface Asked {
  readonly function: FunctionName;
  readonly action: string;
  readonly resource: string;
  readonly allowed: boolean;
}

export interface Surroundings {
  readonly store: Store;
  readonly keyService: KeyService;
  readonly runQueue: WorkQueue<RunMessage>;
  readonly projectionQueue: WorkQueue<RunMessage>;
  readonly outboxQueue: WorkQueue<OutboxMessage>;
  readonly inboxQueue: WorkQueue<InboxMessage>;
}

/** Store, key service, queues and redaction that let a function do what its deployed role lets it, and keep what was asked. */
export function roleBound(
  stack: Synthesised,
  name: FunctionName,
  surroundings: Surroundings,
  asked: Asked[],
): Required<Pick<Seams, keyof Surroundings | 'redactor'>> {
  const statements = stack.statements(name);
  const ask = (one: Ask) => {
    const allowed = may(statements, one);
    asked.push({ function: name, action: one.action, resource: one.resource, allowed });
    if (!allowed) throw new Error(`AccessDenied: ${name} may not ${one.action} on ${one.resource}`);
  };
  const idOf = (type: string, start: string) =>
    stack
      .ofType(type)
      .find(({ id, properties }) => id.startsWith(start) || properties['QueueName'] === start)!.id;
  const onTable = (action: string, table: TableName, partitions: readonly string[], index?: string) => {
    const arn = `<${idOf('AWS::DynamoDB::Table', `Tables${table.charAt(0).toUpperCase()}${table.slice(1)}`)}.Arn>`;
    ask({
      action: `dynamodb:${action}`,
      resource: index === undefined ? arn : `${arn}/index/${index}`,
      context: partitions.length === 0 ? {} : { 'dynamodb:LeadingKeys': partitions },
    });
  };
  const onAction = (action: Action) => {
    const named = {
      put: 'PutItem',
      update: 'UpdateItem',
      delete: 'DeleteItem',
      check: 'ConditionCheckItem',
    } as const;
    onTable(named[action.kind], action.table, [action.kind === 'put' ? action.item.pk : action.key.pk]);
  };
  const onQuery = (input: QueryInput) => onTable('Query', input.table, [input.partition], input.index);
  const onKey = (action: string, context: KeyContext) =>
    ask({
      action: `kms:${action}`,
      resource: `<${idOf('AWS::KMS::Key', 'SealingKeysDataKey')}.Arn>`,
      context: {
        'kms:EncryptionContext:client': context.client,
        'kms:EncryptionContext:purpose': context.purpose,
        'kms:EncryptionContext:epoch': context.epoch,
        'kms:EncryptionContextKeys': ['client', 'purpose', 'epoch'],
      },
    });
  const queue = <M>(queueName: string, to: WorkQueue<M>): WorkQueue<M> => ({
    async send(message, delay) {
      ask({
        action: 'sqs:SendMessage',
        resource: `<${idOf('AWS::SQS::Queue', `Sealpost-${queueName}`)}.Arn>`,
      });
      await to.send(message, delay);
    },
  });

  const { store, keyService } = surroundings;
  const pattern = createPatternRedactor();
  return {
    store: {
      async get(table, key, options) {
        onTable('GetItem', table, [key.pk]);
        return store.get(table, key, options);
      },
      async getMany(many, options) {
        for (const [table, keys] of byTable(many))
          onTable(
            'BatchGetItem',
            table,
            keys.map((key) => key.pk),
          );
        return store.getMany(many, options);
      },
      async query(input, options) {
        onQuery(input);
        return store.query(input, options);
      },
      async count(input, atMost, options) {
        onQuery(input);
        return store.count(input, atMost, options);
      },
      async write(action, options) {
        onAction(action);
        return store.write(action, options);
      },
      async transact(actions, token, options) {
        for (const action of actions) onAction(action);
        return store.transact(actions, token, options);
      },
      async scan(table, after, options) {
        onTable('Scan', table, []);
        return store.scan(table, after, options);
      },
    },
    keyService: {
      async generate(context) {
        onKey('GenerateDataKey', context);
        return keyService.generate(context);
      },
      async unwrap(wrapped, context) {
        onKey('Decrypt', context);
        return keyService.unwrap(wrapped, context);
      },
    },
    runQueue: queue('runs', surroundings.runQueue),
    projectionQueue: queue('projections', surroundings.projectionQueue),
    outboxQueue: queue('outbox', surroundings.outboxQueue),
    inboxQueue: queue('inbox', surroundings.inboxQueue),
    redactor: redactorByMethod({
      pattern,
      comprehend: {
        async redactTexts(texts, options) {
          ask({ action: 'comprehend:DetectPiiEntities', resource: '*' });
          return pattern.redactTexts(texts, options);
        },
      },
    }),
  };
}

function byTable(many: readonly { readonly table: TableName; readonly key: Key }[]): Map<TableName, Key[]> {
  const tables = new Map<TableName, Key[]>();
  for (const { table, key } of many) tables.set(table, [...(tables.get(table) ?? []), key]);
  return tables;
}
