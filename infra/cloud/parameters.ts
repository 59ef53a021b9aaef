import * as z from 'zod';
import { parseRoles } from '../../shared/runtime/roles.ts';

/**
 * What a deployment may choose, each as `-c <name>=<value>` on the command line or under `context` in `cdk.json`. All
 * are optional; lists are comma-separated.
 *
 * | name | meaning | default |
 * |---|---|---|
 * | `stackName` | name of the stack, first part of the names of its queues | `Sealpost` |
 * | `domainName` | custom domain of the gateway, e.g. `agents.example.com`; needs `certificateArn` | the API's own URL |
 * | `certificateArn` | ACM certificate of the domain, same Region | |
 * | `hostedZoneId`, `hostedZoneName` | Route 53 zone that gets the domain's alias record | none, set it yourself |
 * | `functionProviders` | Lambda functions that providers may invoke: names, patterns (`agents-*`) or ARNs | none |
 * | `bedrockModels` | models that providers may invoke: model ids, inference profile ids (`eu.…`) or ARNs | none |
 * | `roles` | which roles the gateway has: `server`, `client` or both | `server,client` |
 * | `signCards` | `false`: cards are not signed, and no signing key is made | `true` |
 * | `alarmTopicArn` | SNS topic that is told of alarms | none |
 * | `alarmEmail` | address that is told of alarms, by a topic of the stack's own | none |
 * | `webAclArn` | WAFv2 web ACL (Regional) put before the API | none |
 * | `requestsPerSecond`, `requestBurst` | throttle of the whole API; quotas per client are settings | 100, 200 |
 * | `executorConcurrency` | runs executed at once, 2 to 1000 | 50 |
 * | `deliveryConcurrency` | webhooks called at once, 2 to 1000 | 50 |
 * | `callbackConcurrency` | callbacks of remote agents taken at once, 2 to 1000 | 50 |
 * | `reconcilerConcurrency` | remote agents called at once, 2 to 1000 | 20 |
 * | `reserveConcurrency` | `false`: reserves none, for accounts whose limit leaves no room for it | `true` |
 * | `apiLogRole` | `false`: leaves the account's API Gateway logging role alone, where one is set already | `true` |
 * | `logDays` | how long logs are kept: 1, 3, 5, 7, 14, 30, 60, 90, 180 or 365 days | 30 |
 * | `retain` | `false`: tables and keys go when the stack is deleted; for trials only | `true` |
 */
export type Parameters = z.infer<typeof schema>;

const text = z.string().min(1);
const arn = z.string().startsWith('arn:');
const list = z
  .union([z.array(text), z.string().transform((value) => value.split(','))])
  .transform((values) => values.map((value) => value.trim()).filter((value) => value !== ''));
const flag = z.union([
  z.boolean(),
  z.enum(['true', 'false', 'on', 'off']).transform((value) => value === 'true' || value === 'on'),
]);
/** `-c roles=client`; in `cdk.json` a list too. */
const roles = z
  .union([z.array(text).transform((named) => named.join(',')), text])
  .transform((named, context) => {
    const read = parseRoles(named);
    if (read === undefined) context.addIssue({ code: 'custom', message: 'must be server, client or both' });
    return read ?? z.NEVER;
  });
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** Times for which CloudWatch keeps logs, days. */
const LOG_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 180, 365] as const;

const schema = z
  .object({
    stackName: z
      .string()
      // Queue names start with it and end in at most 24 characters of ours; SQS takes 80.
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,49}$/)
      .default('Sealpost'),
    domainName: text.optional(),
    certificateArn: arn.optional(),
    hostedZoneId: text.optional(),
    hostedZoneName: text.optional(),
    functionProviders: list.default([]),
    bedrockModels: list.default([]),
    roles: roles.default({ server: true, client: true }),
    signCards: flag.default(true),
    alarmTopicArn: arn.optional(),
    alarmEmail: z.email().optional(),
    webAclArn: arn.optional(),
    requestsPerSecond: whole(1, 100_000).default(100),
    requestBurst: whole(1, 100_000).default(200),
    executorConcurrency: whole(2, 1_000).default(50),
    deliveryConcurrency: whole(2, 1_000).default(50),
    callbackConcurrency: whole(2, 1_000).default(50),
    reconcilerConcurrency: whole(2, 1_000).default(20),
    reserveConcurrency: flag.default(true),
    apiLogRole: flag.default(true),
    logDays: z.coerce
      .number()
      .pipe(z.literal(LOG_DAYS, { error: `must be one of ${LOG_DAYS.join(', ')}` }))
      .default(30),
    retain: flag.default(true),
  })
  .refine((read) => (read.domainName === undefined) === (read.certificateArn === undefined), {
    path: ['domainName'],
    message: 'domainName and certificateArn go together',
  })
  .refine((read) => (read.hostedZoneId === undefined) === (read.hostedZoneName === undefined), {
    path: ['hostedZoneId'],
    message: 'hostedZoneId and hostedZoneName go together',
  });

export const parameterNames: readonly string[] = Object.keys(schema.shape);

/** Thrown where parameters cannot be used; its message names each of them, and why. */
export class UnusableParameters extends Error {
  readonly tag = 'UnusableParameters';
  constructor(problems: readonly string[]) {
    super(
      `These parameters (-c name=value) cannot be used:\n${problems.map((one) => `  ${one}`).join('\n')}`,
    );
  }
}

/** Of the whole context, flags of the CDK among it. Throws `UnusableParameters`, also for a name that is none of ours. */
export function readParameters(context: Readonly<Record<string, unknown>>): Parameters {
  // The CDK's own names have a colon, a slash or a hyphen.
  const unknown = Object.keys(context).filter(
    (name) => /^[A-Za-z0-9_]+$/.test(name) && !parameterNames.includes(name),
  );
  const given = Object.fromEntries(
    parameterNames
      .map((name) => [name, context[name]])
      .filter(([, value]) => value !== undefined && value !== null),
  );
  const read = schema.safeParse(given);
  const problems = read.success
    ? []
    : read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  for (const name of unknown) problems.push(`${name}: there is no such parameter`);
  if (read.success && problems.length === 0) return read.data;
  throw new UnusableParameters(problems);
}
