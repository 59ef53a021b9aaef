/** What may be kept and shown: answer ceilings, redaction, approvals (design §7, P9). */
export type { CeilingDeed, Touched } from './apply.ts';
export { applyCeiling, countTouched } from './apply.ts';
export type { Approval, Decided, Waiting } from './approvals.ts';
export { approve, listApprovals, reject, showApproval } from './approvals.ts';
export type { CeilingJob } from './job.ts';
export { readCeilingJob, runCeilingJob, startOfCeilingJob, tighteningInForceAt } from './job.ts';
export type { ProposedLevels } from './operate.ts';
export { countProposed, showCeilingJob } from './operate.ts';
export type { KeptContent, Privacy } from './privacy.ts';
export { createPrivacy } from './privacy.ts';
export { rewriteRedacted } from './rewrite.ts';
