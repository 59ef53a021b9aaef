import type { MessageName, Messages } from './messages.ts';

/** Names and numbers of the two enums; 0 is proto's "unspecified" and reads as absent. */
export const ENUMS = {
  TaskState: [
    'TASK_STATE_UNSPECIFIED',
    'TASK_STATE_SUBMITTED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    'TASK_STATE_CANCELED',
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_REJECTED',
    'TASK_STATE_AUTH_REQUIRED',
  ],
  Role: ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'],
} as const;

export type EnumName = keyof typeof ENUMS;
export type Scalar = 'string' | 'bytes' | 'int32' | 'bool' | 'timestamp' | 'struct' | 'value';

export interface Field {
  readonly type: Scalar | EnumName | MessageName;
  readonly repeated?: true;
  /** A map from string to `type`. */
  readonly map?: true;
  /** `google.api.field_behavior` REQUIRED. */
  readonly required?: true;
  /** Explicit presence: a set default is kept and written. */
  readonly optional?: true;
  readonly oneof?: string;
  /** Names something: never blank, at most 256 characters, well-formed Unicode. */
  readonly id?: true;
  /** We cannot work without it, so it must be there in a peer's answer too. */
  readonly needed?: true;
  /** An id that is stored and sent again, so that a peer's is held to the bounds of ours. */
  readonly kept?: true;
  /** REQUIRED means present here, not filled: may be `""`. */
  readonly mayBeEmpty?: true;
  /** A list that may not be empty: in requests only, or in a peer's answers too. */
  readonly filled?: 'request' | 'always';
  /** Elements that may not be blank: extension URIs. */
  readonly noBlanks?: true;
  /** Written also when empty: readers of cards expect `{list: []}` for a scheme without scopes. */
  readonly alwaysWritten?: true;
  /** Bounds of an int32. */
  readonly min?: number;
  readonly max?: number;
  /** A lower bound in time: rounded up to the millisecond, so that nothing earlier is included. */
  readonly roundUp?: true;
}

const string = { type: 'string' } as const;
const id = { type: 'string', id: true } as const;
const kept = { ...id, kept: true } as const;
const bool = { type: 'bool' } as const;
const struct = { type: 'struct' } as const;
const strings = { type: 'string', repeated: true } as const;
const uris = { ...strings, noBlanks: true } as const;
const parts = { type: 'Part', repeated: true, required: true } as const;
const historyLength = { type: 'int32', optional: true, min: 0 } as const;
const securityRequirements = { type: 'SecurityRequirement', repeated: true } as const;
const scopes = { type: 'string', map: true } as const;

function required<F extends Field>(field: F): F & { required: true } {
  return { ...field, required: true };
}

/** REQUIRED, and needed in a peer's answer too. */
function needed<F extends Field>(field: F): F & { required: true; needed: true } {
  return { ...field, required: true, needed: true };
}

function oneof<N extends string>(name: N, type: Field['type']): Field {
  return { type, oneof: name };
}

/**
 * The facts of `a2a.proto` v1.0.1 that decoding and encoding need, in the order of the proto; a test holds them
 * against the descriptor in `fixtures/`. Beyond the proto stand `id`, `needed`, `filled`, bounds, and `uri` of an
 * extension, which is required here.
 */
export const FIELDS: {
  readonly [M in MessageName]: { readonly [K in keyof Messages[M]]-?: Field };
} = {
  SendMessageConfiguration: {
    acceptedOutputModes: strings,
    taskPushNotificationConfig: { type: 'TaskPushNotificationConfig' },
    historyLength,
    returnImmediately: bool,
  },
  Task: {
    id: needed(kept),
    contextId: kept,
    status: needed({ type: 'TaskStatus' }),
    artifacts: { type: 'Artifact', repeated: true },
    history: { type: 'Message', repeated: true },
    metadata: struct,
  },
  TaskStatus: {
    state: required({ type: 'TaskState' }),
    message: { type: 'Message' },
    timestamp: { type: 'timestamp' },
  },
  Part: {
    text: oneof('content', 'string'),
    raw: oneof('content', 'bytes'),
    url: oneof('content', 'string'),
    data: oneof('content', 'value'),
    metadata: struct,
    filename: string,
    mediaType: string,
  },
  Message: {
    messageId: required(id),
    contextId: id,
    taskId: id,
    role: required({ type: 'Role' }),
    parts: { ...parts, filled: 'always' },
    metadata: struct,
    extensions: uris,
    referenceTaskIds: { ...strings, id: true },
  },
  Artifact: {
    artifactId: needed(id),
    name: string,
    description: string,
    parts: { ...parts, filled: 'request' },
    metadata: struct,
    extensions: uris,
  },
  TaskStatusUpdateEvent: {
    taskId: needed(id),
    contextId: required(id),
    status: needed({ type: 'TaskStatus' }),
    metadata: struct,
  },
  TaskArtifactUpdateEvent: {
    taskId: needed(id),
    contextId: required(id),
    artifact: needed({ type: 'Artifact' }),
    append: bool,
    lastChunk: bool,
    metadata: struct,
  },
  AuthenticationInfo: { scheme: required(string), credentials: string },
  AgentInterface: {
    url: needed(string),
    protocolBinding: needed(string),
    tenant: string,
    protocolVersion: needed(string),
  },
  AgentCard: {
    name: needed(string),
    description: required(string),
    supportedInterfaces: { ...needed({ type: 'AgentInterface', repeated: true }), filled: 'always' },
    provider: { type: 'AgentProvider' },
    version: required(string),
    documentationUrl: { type: 'string', optional: true },
    capabilities: needed({ type: 'AgentCapabilities' }),
    securitySchemes: { type: 'SecurityScheme', map: true },
    securityRequirements,
    defaultInputModes: required(strings),
    defaultOutputModes: required(strings),
    skills: required({ type: 'AgentSkill', repeated: true }),
    signatures: { type: 'AgentCardSignature', repeated: true },
    iconUrl: { type: 'string', optional: true },
  },
  AgentProvider: { url: required(string), organization: required(string) },
  AgentCapabilities: {
    streaming: { type: 'bool', optional: true },
    pushNotifications: { type: 'bool', optional: true },
    extensions: { type: 'AgentExtension', repeated: true },
    extendedAgentCard: { type: 'bool', optional: true },
  },
  AgentExtension: { uri: needed(string), description: string, required: bool, params: struct },
  AgentSkill: {
    id: required(string),
    name: required(string),
    description: required(string),
    tags: required(strings),
    examples: strings,
    inputModes: strings,
    outputModes: strings,
    securityRequirements,
  },
  AgentCardSignature: { protected: needed(string), signature: needed(string), header: struct },
  TaskPushNotificationConfig: {
    tenant: string,
    id,
    taskId: id,
    url: required(string),
    token: string,
    authentication: { type: 'AuthenticationInfo' },
  },
  StringList: { list: { ...strings, alwaysWritten: true } },
  SecurityRequirement: { schemes: { type: 'StringList', map: true } },
  SecurityScheme: {
    apiKeySecurityScheme: oneof('scheme', 'APIKeySecurityScheme'),
    httpAuthSecurityScheme: oneof('scheme', 'HTTPAuthSecurityScheme'),
    oauth2SecurityScheme: oneof('scheme', 'OAuth2SecurityScheme'),
    openIdConnectSecurityScheme: oneof('scheme', 'OpenIdConnectSecurityScheme'),
    mtlsSecurityScheme: oneof('scheme', 'MutualTlsSecurityScheme'),
  },
  APIKeySecurityScheme: { description: string, location: required(string), name: required(string) },
  HTTPAuthSecurityScheme: { description: string, scheme: required(string), bearerFormat: string },
  OAuth2SecurityScheme: {
    description: string,
    flows: required({ type: 'OAuthFlows' }),
    oauth2MetadataUrl: string,
  },
  OpenIdConnectSecurityScheme: { description: string, openIdConnectUrl: required(string) },
  MutualTlsSecurityScheme: { description: string },
  OAuthFlows: {
    authorizationCode: oneof('flow', 'AuthorizationCodeOAuthFlow'),
    clientCredentials: oneof('flow', 'ClientCredentialsOAuthFlow'),
    implicit: oneof('flow', 'ImplicitOAuthFlow'),
    password: oneof('flow', 'PasswordOAuthFlow'),
    deviceCode: oneof('flow', 'DeviceCodeOAuthFlow'),
  },
  AuthorizationCodeOAuthFlow: {
    authorizationUrl: required(string),
    tokenUrl: required(string),
    refreshUrl: string,
    scopes: required(scopes),
    pkceRequired: bool,
  },
  ClientCredentialsOAuthFlow: { tokenUrl: required(string), refreshUrl: string, scopes: required(scopes) },
  ImplicitOAuthFlow: { authorizationUrl: string, refreshUrl: string, scopes },
  PasswordOAuthFlow: { tokenUrl: string, refreshUrl: string, scopes },
  DeviceCodeOAuthFlow: {
    deviceAuthorizationUrl: required(string),
    tokenUrl: required(string),
    refreshUrl: string,
    scopes: required(scopes),
  },
  SendMessageRequest: {
    tenant: string,
    message: needed({ type: 'Message' }),
    configuration: { type: 'SendMessageConfiguration' },
    metadata: struct,
  },
  GetTaskRequest: { tenant: string, id: required(id), historyLength },
  ListTasksRequest: {
    tenant: string,
    contextId: id,
    status: { type: 'TaskState' },
    pageSize: { type: 'int32', optional: true, min: 1, max: 100 },
    pageToken: string,
    historyLength,
    statusTimestampAfter: { type: 'timestamp', roundUp: true },
    includeArtifacts: { type: 'bool', optional: true },
  },
  ListTasksResponse: {
    tasks: required({ type: 'Task', repeated: true }),
    nextPageToken: { ...required(string), mayBeEmpty: true },
    pageSize: required({ type: 'int32' }),
    totalSize: required({ type: 'int32' }),
  },
  CancelTaskRequest: { tenant: string, id: required(id), metadata: struct },
  GetTaskPushNotificationConfigRequest: { tenant: string, taskId: required(id), id: required(id) },
  DeleteTaskPushNotificationConfigRequest: { tenant: string, taskId: required(id), id: required(id) },
  SubscribeToTaskRequest: { tenant: string, id: required(id) },
  ListTaskPushNotificationConfigsRequest: {
    tenant: string,
    taskId: required(id),
    pageSize: { type: 'int32', min: 0 },
    pageToken: string,
  },
  GetExtendedAgentCardRequest: { tenant: string },
  SendMessageResponse: { task: oneof('payload', 'Task'), message: oneof('payload', 'Message') },
  StreamResponse: {
    task: oneof('payload', 'Task'),
    message: oneof('payload', 'Message'),
    statusUpdate: oneof('payload', 'TaskStatusUpdateEvent'),
    artifactUpdate: oneof('payload', 'TaskArtifactUpdateEvent'),
  },
  ListTaskPushNotificationConfigsResponse: {
    configs: { type: 'TaskPushNotificationConfig', repeated: true },
    nextPageToken: string,
  },
};

export const MESSAGE_NAMES = Object.keys(FIELDS) as MessageName[];

export function fieldsOf(name: MessageName): readonly (readonly [json: string, field: Field])[] {
  let entries = entriesByMessage.get(name);
  if (!entries) {
    entries = Object.entries(FIELDS[name]);
    entriesByMessage.set(name, entries);
  }
  return entries;
}

const entriesByMessage = new Map<MessageName, [string, Field][]>();

export function isMessage(type: Field['type']): type is MessageName {
  return Object.hasOwn(FIELDS, type);
}

export function isEnum(type: Field['type']): type is EnumName {
  return Object.hasOwn(ENUMS, type);
}

/** True where proto3 knows no difference between absent and default, so that a default is left out. */
export function hasImplicitPresence({ type, repeated, map, required, optional, oneof }: Field): boolean {
  if (required || optional || oneof) return false;
  return repeated || map || isEnum(type) || ['string', 'bytes', 'int32', 'bool'].includes(type);
}

/** `contextId` → `context_id`: the name that is accepted on input besides the JSON name. */
export function protoName(json: string): string {
  return json.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
