import type { JsonObject, OneOf } from './types.ts';

/** The agent card and what it is made of. */
export interface AgentCard {
  name: string;
  description: string;
  supportedInterfaces: AgentInterface[];
  provider?: AgentProvider;
  version: string;
  documentationUrl?: string;
  capabilities: AgentCapabilities;
  securitySchemes?: { [name: string]: SecurityScheme };
  securityRequirements?: SecurityRequirement[];
  defaultInputModes: string[];
  defaultOutputModes: string[];
  skills: AgentSkill[];
  signatures?: AgentCardSignature[];
  iconUrl?: string;
}

export interface AgentInterface {
  url: string;
  protocolBinding: string;
  tenant?: string;
  protocolVersion: string;
}

export interface AgentProvider {
  url: string;
  organization: string;
}

export interface AgentCapabilities {
  streaming?: boolean;
  pushNotifications?: boolean;
  extensions?: AgentExtension[];
  extendedAgentCard?: boolean;
}

/** `uri` is plain in the proto; here an extension without one is invalid. */
export interface AgentExtension {
  uri: string;
  description?: string;
  required?: boolean;
  params?: JsonObject;
}

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples?: string[];
  inputModes?: string[];
  outputModes?: string[];
  securityRequirements?: SecurityRequirement[];
}

export interface AgentCardSignature {
  protected: string;
  signature: string;
  header?: JsonObject;
}

export interface StringList {
  list?: string[];
}

export interface SecurityRequirement {
  schemes?: { [name: string]: StringList };
}

/** A card of a peer may name a scheme that this version does not know: then no member is set. */
export type SecurityScheme = OneOf<{
  apiKeySecurityScheme: APIKeySecurityScheme;
  httpAuthSecurityScheme: HTTPAuthSecurityScheme;
  oauth2SecurityScheme: OAuth2SecurityScheme;
  openIdConnectSecurityScheme: OpenIdConnectSecurityScheme;
  mtlsSecurityScheme: MutualTlsSecurityScheme;
}>;

export interface APIKeySecurityScheme {
  description?: string;
  location: string;
  name: string;
}

export interface HTTPAuthSecurityScheme {
  description?: string;
  scheme: string;
  bearerFormat?: string;
}

export interface OAuth2SecurityScheme {
  description?: string;
  flows: OAuthFlows;
  oauth2MetadataUrl?: string;
}

export interface OpenIdConnectSecurityScheme {
  description?: string;
  openIdConnectUrl: string;
}

export interface MutualTlsSecurityScheme {
  description?: string;
}

export type OAuthFlows = OneOf<{
  authorizationCode: AuthorizationCodeOAuthFlow;
  clientCredentials: ClientCredentialsOAuthFlow;
  implicit: ImplicitOAuthFlow;
  password: PasswordOAuthFlow;
  deviceCode: DeviceCodeOAuthFlow;
}>;

type Scopes = { [scope: string]: string };

export interface AuthorizationCodeOAuthFlow {
  authorizationUrl: string;
  tokenUrl: string;
  refreshUrl?: string;
  scopes: Scopes;
  pkceRequired?: boolean;
}

export interface ClientCredentialsOAuthFlow {
  tokenUrl: string;
  refreshUrl?: string;
  scopes: Scopes;
}

/** Deprecated in the proto. */
export interface ImplicitOAuthFlow {
  authorizationUrl?: string;
  refreshUrl?: string;
  scopes?: Scopes;
}

/** Deprecated in the proto. */
export interface PasswordOAuthFlow {
  tokenUrl?: string;
  refreshUrl?: string;
  scopes?: Scopes;
}

export interface DeviceCodeOAuthFlow {
  deviceAuthorizationUrl: string;
  tokenUrl: string;
  refreshUrl?: string;
  scopes: Scopes;
}
