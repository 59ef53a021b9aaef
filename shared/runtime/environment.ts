import * as z from 'zod';

/**
 * What a deployed function is told, by environment variables; the stack and the local host set the same names.
 * Endpoints of AWS services come from `AWS_ENDPOINT_URL_<SERVICE>` where set. None of these can loosen the address
 * guard (design §9).
 */
const schema = z.object({
  SEALPOST_STATE_TABLE: z.string().min(1),
  SEALPOST_VIEW_TABLE: z.string().min(1),
  /** Absent: the server role is switched off. */
  SEALPOST_OUTBOX_TABLE: z.string().min(1).optional(),
  /** Absent: the client role is switched off. */
  SEALPOST_DELEGATION_TABLE: z.string().min(1).optional(),
  SEALPOST_REGISTRY_TABLE: z.string().min(1),
  /** KMS key that wraps data keys. */
  SEALPOST_DATA_KEY: z.string().min(1).optional(),
  /** KMS key (ECC_NIST_P256, SIGN_VERIFY) that signs cards; absent: cards are not signed. */
  SEALPOST_CARD_KEY: z.string().min(1).optional(),
  SEALPOST_RUN_QUEUE: z.url().optional(),
  SEALPOST_PROJECTION_QUEUE: z.url().optional(),
  SEALPOST_OUTBOX_QUEUE: z.url().optional(),
  SEALPOST_INBOX_QUEUE: z.url().optional(),
  /** Public base URL, without a trailing slash; absent: taken from the request context (stage or custom domain). */
  SEALPOST_PUBLIC_URL: z.url().optional(),
  AWS_REGION: z.string().min(1).default('us-east-1'),
  AWS_ENDPOINT_URL_DYNAMODB: z.url().optional(),
  AWS_ENDPOINT_URL_SQS: z.url().optional(),
  AWS_ENDPOINT_URL_KMS: z.url().optional(),
  AWS_ENDPOINT_URL_LAMBDA: z.url().optional(),
  AWS_ENDPOINT_URL_COMPREHEND: z.url().optional(),
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: z.url().optional(),
});
export type Environment = z.infer<typeof schema>;

/** Throws an error naming each missing variable; values are not repeated, they may be private. */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>>): Environment {
  const read = schema.safeParse(variables);
  if (read.success) return read.data;
  const names = read.error.issues.map((issue) => issue.path.join('.')).join(', ');
  throw new Error(`These environment variables are missing or malformed: ${names}`);
}
