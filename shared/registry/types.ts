/** What administrators register (design §2). Times are epoch ms unless the name says otherwise. */
export type AnswerLevel = 'full' | 'redacted' | 'metadata' | 'none';

/** A remote caller of the server role. */
export interface Client {
  /** `[a-z0-9]{4,32}`; part of the token and of keys. */
  readonly id: string;
  readonly name: string;
  readonly disabled: boolean;
  /** At most two, so that a token is replaced without a gap: SHA-256 of the secret, base64url. */
  readonly tokens: readonly { readonly hash: string; readonly createdAt: number }[];
  /** Ids of granted profiles; `*` grants all published ones. */
  readonly profiles: readonly string[];
  /** Ports its webhooks may have besides 443. */
  readonly webhookPorts?: readonly number[];
  /** The only hosts its webhooks may have; absent: any public one. */
  readonly webhookHosts?: readonly string[];
  readonly createdAt: number;
}

/** A published configuration: skill data, provider chain, limits. */
export interface Profile {
  /** `[a-z0-9][a-z0-9-]{0,62}`; the tenant and skill id on the wire. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly examples: readonly string[];
  /** Media types, `any-wildcard` and `type/*` allowed. */
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  /** Tried in order; the next one on a retryable failure. */
  readonly providers: readonly string[];
  readonly published: boolean;
  /** Listed in the open card; others only in the extended card of a client that was granted them. */
  readonly public: boolean;
  readonly answerLevel?: AnswerLevel;
  /** Blocking calls answer after this at the latest, seconds, 1..28. */
  readonly blockingSeconds: number;
  /** A run may take this long from its creation or resumption, seconds. */
  readonly runSeconds: number;
  /** An interrupted task waits this long for its client, seconds. */
  readonly inputSeconds: number;
  /** Executions of a run before it is given up, 1..10. */
  readonly attempts: number;
  readonly dedup: boolean;
  readonly extensions: readonly {
    readonly uri: string;
    readonly description?: string;
    readonly required: boolean;
  }[];
  /** Given to model providers as the system prompt. */
  readonly instructions?: string;
  /** How content is redacted where the level is `redacted`. */
  readonly redaction?: {
    readonly method?: 'pattern' | 'comprehend';
    /** Words and phrases of the profile's own. */
    readonly words?: readonly string[];
    /** As Amazon Comprehend names it; default `en`. */
    readonly language?: string;
    /** Types of Amazon Comprehend that stay. */
    readonly keepTypes?: readonly string[];
  };
  /** `result`: a person approves the result before it is released. */
  readonly approval: 'none' | 'result';
  /** A result waits this long for its approval, seconds. */
  readonly approvalSeconds: number;
  /** A task is kept this long after its last change, days. */
  readonly retentionDays: number;
}

export type Provider = {
  readonly id: string;
  readonly answerLevel?: AnswerLevel;
  readonly timeoutSeconds: number;
} & (
  | { readonly kind: 'echo' }
  | {
      readonly kind: 'function';
      readonly functionName: string;
      /** Remote agents it may hand steps to. */
      readonly agents?: readonly string[];
    }
  /** The whole task is handed on to a remote agent. */
  | { readonly kind: 'remote'; readonly agent: string }
  | {
      readonly kind: 'openai';
      readonly baseUrl: string;
      readonly model: string;
      /** Sealed; absent: none is sent. */
      readonly apiKey?: SealedSecret;
      /** Hosts that may resolve to private addresses, a VPC endpoint say. */
      readonly trustedHosts: readonly string[];
      readonly maxOutputTokens?: number;
      readonly temperature?: number;
      /** Remote agents offered to the model as tools. */
      readonly agents?: readonly string[];
    }
  | {
      readonly kind: 'bedrock';
      readonly model: string;
      readonly region?: string;
      readonly maxOutputTokens?: number;
      readonly temperature?: number;
      /** Remote agents offered to the model as tools. */
      readonly agents?: readonly string[];
    }
);

/** A registered outside agent (client role, design §8). */
export interface RemoteAgent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly cardUrl: string;
  /** Sealed bearer credential; absent: none is sent. */
  readonly credential?: SealedSecret;
  readonly disabled: boolean;
  readonly push: 'embedded' | 'separate' | 'off';
  /** Origins other than the card's that its interface may have. */
  readonly allowedOrigins: readonly string[];
  /** Hosts that may resolve to private addresses. */
  readonly trustedHosts: readonly string[];
  readonly allowedPorts: readonly number[];
  /** P-256 public key that its card must be signed with. */
  readonly cardKey?: { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string };
  /** The interface that was chosen when the card was read last. */
  readonly interface: { readonly url: string; readonly protocolVersion: string; readonly tenant?: string };
  readonly cardEtag?: string;
  readonly cardReadAt: number;
  /** A dependency on it is given up after this, seconds. */
  readonly waitSeconds: number;
}

/** A secret of the registry as stored: opened only where it is used, shown as `***`. */
export interface SealedSecret {
  readonly sealed: Uint8Array;
  readonly salt: Uint8Array;
  readonly epoch: string;
}

/** Installation-wide; every quota of the server role stands here with its default (README: limits). */
export interface Settings {
  readonly organization: string;
  readonly organizationUrl: string;
  readonly gatewayName: string;
  readonly gatewayDescription: string;
  readonly defaultProfile?: string;
  readonly answerLevel: AnswerLevel;
  readonly streaming: boolean;
  readonly extendedCard: boolean;
  readonly pushNotifications: boolean;
  /** Bytes of a request body, at most 2 MB. */
  readonly maxBodyBytes: number;
  readonly maxParts: number;
  /** Messages of one task. */
  readonly maxTaskMessages: number;
  /** Messages and bytes that a run sees of its own task and its context. */
  readonly maxHistoryMessages: number;
  readonly maxContextMessages: number;
  readonly maxContextBytes: number;
  readonly maxReferenceTasks: number;
  readonly requestsPerMinute: number;
  readonly openTasks: number;
  readonly openStreams: number;
  /** A stream lasts at most this long, seconds, 10..840. */
  readonly streamSeconds: number;
}
