import { CfnOutput, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import {
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { AnyPrincipal, PolicyDocument, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { Environment } from '../../shared/runtime/environment.ts';
import { hasTable, type Roles } from '../../shared/runtime/roles.ts';
import { tables as definitions, type TableName } from '../../shared/storage/tables.ts';
import type { Alarms } from './alarms.ts';
import type { GatewayFunction } from './gateway-function.ts';
import { accountAdministers } from './key-policy.ts';

export type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'ConditionCheckItem'
  | 'Query'
  | 'Scan'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem';

/**
 * The five tables of `shared/storage/tables.ts` (design §4): on demand, encrypted with one key of the customer's, kept
 * when the stack goes. No function's role names that key; it works only through DynamoDB, for those who may use a
 * table anyway. The tables of a role that is switched off stand too, with what they held, so that the role finds it when
 * it is switched on again; but nobody is told of them and nobody has a right to them, and they cost nothing empty.
 */
export class Tables extends Construct {
  readonly key: Key;
  readonly environment: Readonly<Partial<Record<keyof Environment, string>>>;
  /** Those of the roles that are on. */
  readonly inUse: readonly TableName[];
  readonly #tables: Readonly<Record<TableName, Table>>;

  constructor(
    scope: Construct,
    id: string,
    props: { readonly retain: boolean; readonly alarms: Alarms; readonly roles: Roles },
  ) {
    super(scope, id);
    this.inUse = (Object.keys(definitions) as TableName[]).filter((name) => hasTable(props.roles, name));
    const removalPolicy = props.retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    this.key = new Key(this, 'Key', {
      description: 'Sealpost: encrypts the tables',
      enableKeyRotation: true,
      pendingWindow: Duration.days(props.retain ? 30 : 7),
      removalPolicy,
      policy: new PolicyDocument({
        statements: [accountAdministers(), usedThroughTables(Stack.of(this)), describedByDynamo()],
      }),
    });
    const make = (name: TableName): Table => this.#make(name, props.retain, removalPolicy);
    this.#tables = {
      state: make('state'),
      view: make('view'),
      outbox: make('outbox'),
      delegation: make('delegation'),
      registry: make('registry'),
    };
    this.environment = Object.fromEntries(
      this.inUse.map((name) => [`SEALPOST_${name.toUpperCase()}_TABLE`, this.of(name).tableName]),
    );
    for (const name of this.inUse) {
      for (const metric of throttles(this.of(name))) {
        props.alarms.watch(this.of(name), metric.metricName, metric, {
          description: `table ${name} throttles`,
          threshold: 10,
          periods: 3,
        });
      }
    }
  }

  of(name: TableName): Table {
    return this.#tables[name];
  }

  /**
   * Exactly these actions on a table, and `Query` on exactly these of its indexes. `partitions`: only items whose
   * partition key matches one of these patterns (`*` stands for anything). Of a table that is not in use: nothing.
   */
  allow(
    user: GatewayFunction,
    name: TableName,
    actions: readonly TableAction[],
    narrowed: { readonly indexes?: readonly string[]; readonly partitions?: readonly string[] } = {},
  ): void {
    if (!this.inUse.includes(name)) return;
    const { indexes = [], partitions } = narrowed;
    const table = this.of(name);
    user.allow(
      new PolicyStatement({
        actions: actions.map((action) => `dynamodb:${action}`),
        resources: [table.tableArn],
        ...(partitions === undefined
          ? {}
          : {
              conditions: {
                'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...partitions] },
                Null: { 'dynamodb:LeadingKeys': 'false' },
              },
            }),
      }),
    );
    if (indexes.length === 0) return;
    user.allow(
      new PolicyStatement({
        actions: ['dynamodb:Query'],
        resources: indexes.map((index) => `${table.tableArn}/index/${index}`),
      }),
    );
  }

  output(): void {
    for (const name of this.inUse) {
      const id = `${name.charAt(0).toUpperCase()}${name.slice(1)}Table`;
      new CfnOutput(Stack.of(this), id, { value: this.of(name).tableName, description: `Table ${name}` });
    }
  }

  #make(name: TableName, retain: boolean, removalPolicy: RemovalPolicy): Table {
    const definition = definitions[name];
    const table = new Table(this, `${name.charAt(0).toUpperCase()}${name.slice(1)}`, {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.CUSTOMER_MANAGED,
      encryptionKey: this.key,
      timeToLiveAttribute: definition.timeToLive,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: definition.pointInTimeRecovery },
      ...(definition.stream === undefined ? {} : { stream: StreamViewType[definition.stream] }),
      deletionProtection: retain,
      removalPolicy,
    });
    for (const index of definition.indexes) {
      table.addGlobalSecondaryIndex({
        indexName: index.name,
        partitionKey: { name: index.partitionKey, type: AttributeType.STRING },
        sortKey: { name: index.sortKey, type: AttributeType.STRING },
        projectionType: ProjectionType[index.projection],
      });
    }
    if (!definition.pointInTimeRecovery) {
      Validations.of(table).acknowledge({
        id: 'AwsSolutions-DDB3',
        reason:
          'Only state and registry are sources of truth and recoverable. The view is rebuilt from state; jobs and ' +
          'dependencies restored to an earlier time would be delivered and asked again.',
      });
    }
    return table;
  }
}

export function throttles(table: Table): Metric[] {
  return ['ReadThrottleEvents', 'WriteThrottleEvents'].map(
    (metricName) =>
      new Metric({
        namespace: 'AWS/DynamoDB',
        metricName,
        dimensionsMap: { TableName: table.tableName },
        statistic: 'Sum',
        period: Duration.minutes(5),
      }),
  );
}

/** DynamoDB calls KMS in the name of who reads or writes a table, and makes a grant for its own upkeep. */
function usedThroughTables(stack: Stack): PolicyStatement {
  return new PolicyStatement({
    sid: 'UsedThroughTheTablesOnly',
    principals: [new AnyPrincipal()],
    actions: [
      'kms:CreateGrant',
      'kms:Decrypt',
      'kms:DescribeKey',
      'kms:Encrypt',
      'kms:GenerateDataKey*',
      'kms:ReEncrypt*',
    ],
    resources: ['*'],
    conditions: {
      StringEquals: {
        'kms:CallerAccount': stack.account,
        'kms:ViaService': `dynamodb.${stack.region}.${stack.urlSuffix}`,
      },
    },
  });
}

function describedByDynamo(): PolicyStatement {
  return new PolicyStatement({
    sid: 'DescribedByDynamoDB',
    principals: [new ServicePrincipal('dynamodb.amazonaws.com')],
    actions: ['kms:Describe*', 'kms:Get*', 'kms:List*'],
    resources: ['*'],
  });
}
