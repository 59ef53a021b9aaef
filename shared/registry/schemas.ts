import * as z from 'zod';
import { MAX_WORD_LENGTH, MAX_WORDS } from '../redaction/redactor.ts';
import {
  baseUrl,
  clientId,
  distinct,
  functionName,
  grant,
  host,
  id,
  level,
  line,
  mediaTypes,
  origin,
  publicKey,
  region,
  secret,
  text,
  webUrl,
  whole,
} from './fields.ts';
import { GATEWAY } from './secrets.ts';
import type { Settings } from './types.ts';

/**
 * What an administrator may write in a file (README: administrator's files), with defaults and bounds. The same fields
 * read what is stored, so a field that a later version adds has its default in older records too.
 */
const DAY = 86_400;

export const profileFields = {
  id,
  name: line(200),
  description: text(5_000).min(1),
  version: line(50).default('1.0.0'),
  tags: z.array(line(60)).max(30).default([]),
  examples: z.array(text(1_000).min(1)).max(20).default([]),
  inputModes: mediaTypes.default(['text/plain', 'application/json']),
  outputModes: mediaTypes.default(['text/plain', 'application/json']),
  providers: distinct(z.array(id).max(8)).default([]),
  public: z.boolean().default(false),
  answerLevel: z.exactOptional(level),
  blockingSeconds: whole(1, 28).default(25),
  runSeconds: whole(1, DAY).default(1_800),
  inputSeconds: whole(1, 30 * DAY).default(7 * DAY),
  attempts: whole(1, 10).default(3),
  dedup: z.boolean().default(true),
  extensions: z
    .array(
      z.strictObject({
        uri: line(500).refine((uri) => URL.canParse(uri), { error: 'must be an absolute URI' }),
        description: z.exactOptional(text(1_000)),
        required: z.boolean().default(false),
      }),
    )
    .max(20)
    .default([]),
  instructions: z.exactOptional(text(50_000)),
  redaction: z.exactOptional(
    z.strictObject({
      method: z.exactOptional(z.enum(['pattern', 'comprehend'])),
      words: z.exactOptional(z.array(line(MAX_WORD_LENGTH)).max(MAX_WORDS)),
      language: z.exactOptional(
        z.string().regex(/^[a-z]{2}(-[A-Z]{2})?$/, { error: 'must be a language code' }),
      ),
      keepTypes: z.exactOptional(z.array(line(60)).max(100)),
    }),
  ),
  approval: z.enum(['none', 'result']).default('none'),
  approvalSeconds: whole(60, 30 * DAY).default(7 * DAY),
  retentionDays: whole(1, 3_650).default(30),
};

/** `published` is no part of the file: `profile publish` and `unpublish` alone change it. */
export const profileInput = z.strictObject(profileFields);
export type ProfileInput = z.output<typeof profileInput>;

/** The provider kinds; how a key stands in them differs between a file and the store. */
export function providerKinds<Key extends z.ZodType>(apiKey: Key) {
  const shared = { id, answerLevel: z.exactOptional(level), timeoutSeconds: whole(1, 840).default(60) };
  const agents = z.exactOptional(distinct(z.array(id).max(16)));
  const sampling = {
    maxOutputTokens: z.exactOptional(whole(1, 1_000_000)),
    temperature: z.exactOptional(z.number().min(0).max(2)),
    agents,
  };
  const kinds = [
    z.strictObject({ ...shared, kind: z.literal('echo') }),
    z.strictObject({ ...shared, kind: z.literal('function'), functionName, agents }),
    z.strictObject({ ...shared, kind: z.literal('remote'), agent: id }),
    z.strictObject({
      ...shared,
      kind: z.literal('openai'),
      baseUrl,
      model: line(200),
      apiKey: z.exactOptional(apiKey),
      trustedHosts: z.array(host).max(20).default([]),
      ...sampling,
    }),
    z.strictObject({
      ...shared,
      kind: z.literal('bedrock'),
      model: line(300),
      region: z.exactOptional(region),
      ...sampling,
    }),
  ] as const;
  return z.discriminatedUnion('kind', kinds, {
    error: (issue) =>
      issue.code === 'invalid_union' ? 'must be one of echo, function, remote, openai, bedrock' : undefined,
  });
}
export const providerInput = providerKinds(secret);
export type ProviderInput = z.output<typeof providerInput>;

/** Ports besides 443 that an agent may be called on. */
const ports = distinct(z.array(whole(1, 65_535)).max(20));

/** A remote agent (design §8). The interface is no part of it: it is read from the card. */
const agentPush = z.enum(['embedded', 'separate', 'off']);
const agentOrigins = distinct(z.array(origin).max(20));

export const agentInput = z.strictObject({
  id,
  cardUrl: baseUrl,
  /** Absent: what the card says. */
  name: z.exactOptional(line(200)),
  description: z.exactOptional(text(5_000)),
  credential: z.exactOptional(secret),
  push: agentPush.default('embedded'),
  allowedOrigins: agentOrigins.default([]),
  trustedHosts: distinct(z.array(host).max(20)).default([]),
  allowedPorts: ports.default([]),
  cardKey: z.exactOptional(publicKey),
  waitSeconds: whole(1, 30 * DAY).default(DAY),
});
export type AgentInput = z.output<typeof agentInput>;

/** What may be changed of a registered agent without reading its card; a list replaces the one that stood. */
export const agentChanges = {
  push: z.exactOptional(agentPush),
  allowedOrigins: z.exactOptional(agentOrigins),
};

/** What a remote agent is called with, when it is replaced. */
export const agentCredential = secret;

/** Names that the gateway uses for itself where a client's id could stand. */
const reserved = new Set(['admin', GATEWAY]);

/** Grants of a client; a whole list, or the ones to add or take away. */
export const grants = distinct(z.array(grant).max(200));

export const clientInput = z.strictObject({
  id: z.exactOptional(clientId.refine((own) => !reserved.has(own), { error: 'is reserved' })),
  name: line(200),
  profiles: grants.default([]),
});
export type ClientInput = z.output<typeof clientInput>;

export const settingsFields = {
  organization: line(200),
  organizationUrl: webUrl,
  gatewayName: line(200),
  gatewayDescription: text(5_000).min(1),
  defaultProfile: id,
  answerLevel: level,
  streaming: z.boolean(),
  extendedCard: z.boolean(),
  pushNotifications: z.boolean(),
  maxBodyBytes: whole(1_024, 2 * 1024 * 1024),
  maxParts: whole(1, 1_000),
  maxTaskMessages: whole(2, 10_000),
  maxHistoryMessages: whole(0, 1_000),
  maxContextMessages: whole(0, 1_000),
  maxContextBytes: whole(0, 2 * 1024 * 1024),
  maxReferenceTasks: whole(0, 50),
  requestsPerMinute: whole(1, 1_000_000),
  openTasks: whole(1, 100_000),
  openStreams: whole(1, 10_000),
  streamSeconds: whole(10, 840),
};

export const settingsDefaults: Settings = {
  organization: 'Sealpost',
  organizationUrl: 'https://example.com/',
  gatewayName: 'Sealpost',
  gatewayDescription: 'An Agent2Agent gateway that keeps the sealed result of every completed task.',
  answerLevel: 'metadata',
  streaming: true,
  extendedCard: true,
  pushNotifications: true,
  maxBodyBytes: 2 * 1024 * 1024,
  maxParts: 100,
  maxTaskMessages: 200,
  maxHistoryMessages: 100,
  maxContextMessages: 50,
  maxContextBytes: 256 * 1024,
  maxReferenceTasks: 10,
  requestsPerMinute: 1_200,
  openTasks: 500,
  openStreams: 50,
  streamSeconds: 840,
};

export const settingNames = Object.keys(settingsFields) as readonly (keyof Settings)[];

/** A change of settings; null puts one back to its default. */
export const settingsInput = z.strictObject(
  Object.fromEntries(
    Object.entries(settingsFields).map(([name, field]) => [name, z.exactOptional(z.nullable(field))]),
  ),
);
export type SettingsInput = { readonly [Name in keyof Settings]?: Settings[Name] | null };
