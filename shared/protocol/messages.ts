import type * as card from './card-types.ts';
import type * as a2a from './types.ts';

/** The 44 messages by their proto name, in the order of the proto. */
export interface Messages {
  SendMessageConfiguration: a2a.SendMessageConfiguration;
  Task: a2a.Task;
  TaskStatus: a2a.TaskStatus;
  Part: a2a.Part;
  Message: a2a.Message;
  Artifact: a2a.Artifact;
  TaskStatusUpdateEvent: a2a.TaskStatusUpdateEvent;
  TaskArtifactUpdateEvent: a2a.TaskArtifactUpdateEvent;
  AuthenticationInfo: a2a.AuthenticationInfo;
  AgentInterface: card.AgentInterface;
  AgentCard: card.AgentCard;
  AgentProvider: card.AgentProvider;
  AgentCapabilities: card.AgentCapabilities;
  AgentExtension: card.AgentExtension;
  AgentSkill: card.AgentSkill;
  AgentCardSignature: card.AgentCardSignature;
  TaskPushNotificationConfig: a2a.TaskPushNotificationConfig;
  StringList: card.StringList;
  SecurityRequirement: card.SecurityRequirement;
  SecurityScheme: card.SecurityScheme;
  APIKeySecurityScheme: card.APIKeySecurityScheme;
  HTTPAuthSecurityScheme: card.HTTPAuthSecurityScheme;
  OAuth2SecurityScheme: card.OAuth2SecurityScheme;
  OpenIdConnectSecurityScheme: card.OpenIdConnectSecurityScheme;
  MutualTlsSecurityScheme: card.MutualTlsSecurityScheme;
  OAuthFlows: card.OAuthFlows;
  AuthorizationCodeOAuthFlow: card.AuthorizationCodeOAuthFlow;
  ClientCredentialsOAuthFlow: card.ClientCredentialsOAuthFlow;
  ImplicitOAuthFlow: card.ImplicitOAuthFlow;
  PasswordOAuthFlow: card.PasswordOAuthFlow;
  DeviceCodeOAuthFlow: card.DeviceCodeOAuthFlow;
  SendMessageRequest: a2a.SendMessageRequest;
  GetTaskRequest: a2a.GetTaskRequest;
  ListTasksRequest: a2a.ListTasksRequest;
  ListTasksResponse: a2a.ListTasksResponse;
  CancelTaskRequest: a2a.CancelTaskRequest;
  GetTaskPushNotificationConfigRequest: a2a.GetTaskPushNotificationConfigRequest;
  DeleteTaskPushNotificationConfigRequest: a2a.DeleteTaskPushNotificationConfigRequest;
  SubscribeToTaskRequest: a2a.SubscribeToTaskRequest;
  ListTaskPushNotificationConfigsRequest: a2a.ListTaskPushNotificationConfigsRequest;
  GetExtendedAgentCardRequest: a2a.GetExtendedAgentCardRequest;
  SendMessageResponse: a2a.SendMessageResponse;
  StreamResponse: a2a.StreamResponse;
  ListTaskPushNotificationConfigsResponse: a2a.ListTaskPushNotificationConfigsResponse;
}

export type MessageName = keyof Messages;
