import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ArnPrincipal, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { Purpose } from '../../shared/sealing/index.ts';
import type { GatewayFunction } from './gateway-function.ts';
import { accountAdministers } from './key-policy.ts';

/**
 * The key that wraps data keys (design §4, P10). A function uses it only for the purposes it was allowed, and only
 * with the full encryption context; both its role and the key say so, and nobody else in the account can use it.
 */
export class SealingKeys extends Construct {
  readonly key: Key;

  constructor(scope: Construct, id: string, props: { readonly retain: boolean }) {
    super(scope, id);
    this.key = new Key(this, 'DataKey', {
      description: 'Sealpost: wraps the data keys that seal content and secrets',
      enableKeyRotation: true,
      pendingWindow: Duration.days(props.retain ? 30 : 7),
      removalPolicy: props.retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
      policy: new PolicyDocument({ statements: [accountAdministers()] }),
    });
  }

  /** `generate`: makes data keys and opens them. `open`: opens them only. `client`: those of that client only. */
  allow(
    user: GatewayFunction,
    purposes: {
      readonly generate?: readonly Purpose[];
      readonly open?: readonly Purpose[];
      readonly client?: string;
    },
  ): void {
    user.tell('SEALPOST_DATA_KEY', this.key.keyArn);
    const { generate = [], open = [], client } = purposes;
    if (generate.length > 0) this.#state(user, ['kms:GenerateDataKey', 'kms:Decrypt'], generate, client);
    if (open.length > 0) this.#state(user, ['kms:Decrypt'], open, client);
  }

  #state(
    user: GatewayFunction,
    actions: string[],
    purposes: readonly Purpose[],
    client: string | undefined,
  ): void {
    const conditions = {
      StringEquals: {
        'kms:EncryptionContext:purpose': [...purposes],
        ...(client === undefined ? {} : { 'kms:EncryptionContext:client': client }),
      },
      // The three that a data key is bound to, each present, and none besides.
      Null: { 'kms:EncryptionContext:client': 'false', 'kms:EncryptionContext:epoch': 'false' },
      'ForAllValues:StringEquals': { 'kms:EncryptionContextKeys': ['client', 'purpose', 'epoch'] },
    };
    user.allow(new PolicyStatement({ actions, resources: [this.key.keyArn], conditions }));
    this.key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ArnPrincipal(user.role.roleArn)],
        actions,
        resources: ['*'],
        conditions,
      }),
    );
  }
}
