import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ArnPrincipal, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { GatewayFunction } from './gateway-function.ts';
import { accountAdministers } from './key-policy.ts';

/** The key that signs agent cards (JWS, ES256; design §5). It seals nothing, and its private half never leaves KMS. */
export class CardKey extends Construct {
  readonly key: Key;

  constructor(scope: Construct, id: string, props: { readonly retain: boolean }) {
    super(scope, id);
    this.key = new Key(this, 'SigningKey', {
      description: 'Sealpost: signs agent cards',
      keySpec: KeySpec.ECC_NIST_P256,
      keyUsage: KeyUsage.SIGN_VERIFY,
      pendingWindow: Duration.days(props.retain ? 30 : 7),
      removalPolicy: props.retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
      policy: new PolicyDocument({ statements: [accountAdministers()] }),
    });
  }

  allow(signer: GatewayFunction): void {
    signer.tell('SEALPOST_CARD_KEY', this.key.keyArn);
    const sign = {
      actions: ['kms:Sign'],
      conditions: { StringEquals: { 'kms:SigningAlgorithm': 'ECDSA_SHA_256', 'kms:MessageType': 'DIGEST' } },
    };
    const publish = { actions: ['kms:GetPublicKey'] };
    for (const statement of [sign, publish]) {
      signer.allow(new PolicyStatement({ ...statement, resources: [this.key.keyArn] }));
      this.key.addToResourcePolicy(
        new PolicyStatement({
          ...statement,
          principals: [new ArnPrincipal(signer.role.roleArn)],
          resources: ['*'],
        }),
      );
    }
  }
}
