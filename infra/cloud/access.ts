import type { Purpose } from '../../shared/sealing/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Key } from '../../shared/storage/port.ts';
import type { GatewayFunction } from './gateway-function.ts';
import type { TableAction, Tables } from './tables.ts';

/** One item or many by their keys: the same right under two names. */
export const GET: readonly TableAction[] = ['GetItem', 'BatchGetItem'];

/** What a function that only looks does, on `state` at what was committed. */
export const READ: readonly TableAction[] = [...GET, 'Query'];

/** What a function that commits changes of tasks does on `state`: it puts revisions and content, and moves heads. */
export const TASK_WRITE: readonly TableAction[] = [...READ, 'PutItem', 'UpdateItem'];

/** What projecting does on `view` (design §4, Projection): whoever commits projects, as does the stream. */
export const PROJECT: readonly TableAction[] = [...GET, 'PutItem'];

/** What serving clients does on `view` besides: it reads journals. */
export const SERVE: readonly TableAction[] = [...PROJECT, 'Query'];

/** Registry partitions that a run needs: no token hash, no audit. */
export const REGISTRY_READ: readonly string[] = [
  keys.profile('*').pk,
  keys.provider('*').pk,
  keys.settings().pk,
];

/** Registry partitions that authentication needs besides. */
export const CLIENT_READ: readonly string[] = [keys.client('*').pk];

/** Remote agents: interfaces and sealed credentials (client role). */
export const AGENT_READ: readonly string[] = [keys.agent('*').pk];

/** How far an administrator's tightening has come. */
export const CEILING_JOB: readonly string[] = [keys.ceilingJob().pk];

/** What says how much of a task may be kept: the registry, and what is being tightened. */
export const LEVELS_READ: readonly string[] = [...REGISTRY_READ, ...CEILING_JOB];

/** The audit, whose months are partitions: written by who did something, read by nobody but administrators. */
export const AUDIT: readonly string[] = [keys.audit(0, '').pk.replace(/\d+$/, '*')];

/** Counters of a client: requests of a minute, open streams. */
export const COUNTERS: readonly string[] = [keys.rate('*', 0).pk, keys.stream('*', '').pk];

/** Wrapped data keys of these purposes, of every client. */
export function dataKeyItems(purposes: readonly Purpose[]): string[] {
  return purposes.map((purpose) => keys.dataKey('*', purpose, '').pk);
}

const all = ({ pk }: Key): string => `${pk.slice(0, pk.indexOf('#'))}#*`;

/** Partitions of `state`: sealed messages and results. */
export const CONTENT: readonly string[] = [all(keys.message('', 0, '', 0)), all(keys.result('', '', '', 0))];

/** Partitions of `state`: sealed working state of runs. */
export const WORKING: readonly string[] = [all(keys.working('', '', 0))];

/** The partition of `state` that lists what waits for a person. */
export const APPROVALS: readonly string[] = [keys.approval('').pk];

/** Partitions of `delegation`: what runs wait for. */
export const DEPENDENCIES: readonly string[] = [all(keys.dependency('', ''))];

/** Partitions of `delegation`: callback addresses. */
export const REGISTRATIONS: readonly string[] = [all(keys.registration(''))];

/**
 * What ending a task, or taking its content away, does besides committing: nobody waits for a person any more, and
 * deliveries that opened the content lose their condition (design §4, §6).
 */
export function allowEnding(tables: Tables, user: GatewayFunction): void {
  tables.allow(user, 'state', ['DeleteItem'], { partitions: APPROVALS });
  tables.allow(user, 'outbox', ['UpdateItem']);
}

/** What rewriting a task redacted does (design §7): copies are written beside the head, and the old ones go. */
export function allowRewriting(tables: Tables, user: GatewayFunction): void {
  tables.allow(user, 'state', ['ConditionCheckItem']);
  tables.allow(user, 'state', ['DeleteItem'], { partitions: CONTENT });
  tables.allow(user, 'outbox', ['UpdateItem']);
}

/** What purging a task does (P12): everything of it goes, from every table, but for tombstones. */
export function allowPurging(tables: Tables, user: GatewayFunction): void {
  tables.allow(user, 'state', [...TASK_WRITE, 'DeleteItem']);
  tables.allow(user, 'view', ['Query', 'PutItem', 'DeleteItem']);
  tables.allow(user, 'outbox', ['Query', 'DeleteItem']);
  tables.allow(user, 'delegation', ['Query', 'UpdateItem', 'DeleteItem']);
}
