import { AccountRootPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * The account's administrators may manage a key, delete it included, and may not use it. What the default policy
 * does, to let any IAM policy of the account grant use, would make each `kms:*` in the account a reader (P10).
 */
export function accountAdministers(): PolicyStatement {
  return new PolicyStatement({
    sid: 'AccountAdministersWithoutUsing',
    principals: [new AccountRootPrincipal()],
    actions: [
      'kms:CancelKeyDeletion',
      'kms:DescribeKey',
      'kms:DisableKey',
      'kms:DisableKeyRotation',
      'kms:EnableKey',
      'kms:EnableKeyRotation',
      'kms:GetKeyPolicy',
      'kms:GetKeyRotationStatus',
      'kms:GetPublicKey',
      'kms:ListGrants',
      'kms:ListKeyPolicies',
      'kms:ListKeyRotations',
      'kms:ListResourceTags',
      'kms:PutKeyPolicy',
      'kms:RetireGrant',
      'kms:RevokeGrant',
      'kms:ScheduleKeyDeletion',
      'kms:TagResource',
      'kms:UntagResource',
      'kms:UpdateAlias',
      'kms:CreateAlias',
      'kms:DeleteAlias',
      'kms:UpdateKeyDescription',
    ],
    // In a key's own policy: this key.
    resources: ['*'],
  });
}
