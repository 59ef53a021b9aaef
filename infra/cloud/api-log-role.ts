import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import { CfnAccount } from 'aws-cdk-lib/aws-apigateway';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/**
 * API Gateway writes logs, access logs too, only once the account (per Region) names a role for it. The setting is
 * shared by all APIs of the account, so it is kept when the stack goes, and may write to the groups of all of them.
 */
export function apiLogRole(scope: Construct): CfnAccount {
  const write = new PolicyStatement({
    actions: [
      'logs:CreateLogGroup',
      'logs:CreateLogStream',
      'logs:DescribeLogGroups',
      'logs:DescribeLogStreams',
      'logs:PutLogEvents',
      'logs:GetLogEvents',
      'logs:FilterLogEvents',
    ],
    resources: ['*'],
  });
  const role = new Role(scope, 'LogRole', {
    assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
    description: 'API Gateway writes logs of all APIs of the account',
    inlinePolicies: { WriteLogs: new PolicyDocument({ statements: [write] }) },
  });
  Validations.of(role).acknowledge({
    id: 'AwsSolutions-IAM5[Resource::*]',
    reason: 'One role per account and Region serves every API in it, under names that are not ours to know.',
  });
  const account = new CfnAccount(scope, 'Account', { cloudWatchRoleArn: role.roleArn });
  account.node.addDependency(role);
  account.applyRemovalPolicy(RemovalPolicy.RETAIN);
  role.applyRemovalPolicy(RemovalPolicy.RETAIN);
  return account;
}
