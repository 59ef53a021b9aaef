/** What administrators can do, behind whatever brings their commands (design §2, §9). */
export type { Admin } from './admin.ts';
export { createAdmin } from './admin.ts';
export type { AgentOperations } from './agents.ts';
export type { ApprovalOperations } from './approvals.ts';
export type { CeilingOperations, Proposed } from './ceilings.ts';
export type { DependencyOperations } from './dependencies.ts';
export type { AdminError, AdminFailure } from './failures.ts';
export { describeFailure } from './failures.ts';
export type { AdminAnswer, AdminParts } from './operation.ts';
export type { PurgeOperation } from './purges.ts';
export type { HaltedState, PushConfigShown, PushOperations } from './push.ts';
export type { RunOperations } from './runs.ts';
export type { TaskOperations } from './tasks.ts';
