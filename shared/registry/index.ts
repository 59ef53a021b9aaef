/** What administrators register (design §2), as requests read it and as administrators change it. */
export type { NamesAgents } from './agents.ts';
export { agentOfProfileId, agentProfileId, agentsOf, providerOfAgent } from './agents.ts';
export type { AuditFacts, Deed } from './audit.ts';
export { auditEntry, auditEntryOfMinute, GATEWAY_ACTOR } from './audit.ts';
export type { Decision, Edit, EditorParts, RegistryEditor, Removal } from './editor.ts';
export { createRegistryEditor } from './editor.ts';
export { distinct, line, whole } from './fields.ts';
export { type Floor, floorsOf, type Tightened, underFloors } from './floors.ts';
export type { Checked, InvalidInput } from './input.ts';
export { check } from './input.ts';
export { answerLevels, isRetainable, resolveLevel, tighter } from './levels.ts';
export type { Edition, RecordKind, Records } from './records.ts';
export { effectiveSettings, RecordUnreadable, recordKey } from './records.ts';
export type { Registry, RegistryParts } from './registry.ts';
export { CACHE_MS, createRegistry, readRecord, readRecords } from './registry.ts';
export type { AgentInput, ClientInput, ProfileInput, ProviderInput, SettingsInput } from './schemas.ts';
export {
  agentChanges,
  agentCredential,
  agentInput,
  clientInput,
  grants,
  profileInput,
  providerInput,
  settingNames,
  settingsDefaults,
  settingsFields,
  settingsInput,
} from './schemas.ts';
export type { SecretBox } from './secrets.ts';
export { createSecretBox, GATEWAY, MASK } from './secrets.ts';
export type { Authentication } from './tokens.ts';
export { authenticate, hashSecret, mintToken } from './tokens.ts';
export type {
  AnswerLevel,
  Client,
  Profile,
  Provider,
  RemoteAgent,
  SealedSecret,
  Settings,
} from './types.ts';
