import type { Purpose } from '../../shared/sealing/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { TableAction } from './tables.ts';

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

/** The audit, whose months are partitions: written by who did something, read by nobody but administrators. */
export const AUDIT: readonly string[] = [keys.audit(0, '').pk.replace(/\d+$/, '*')];

/** Counters of a client: requests of a minute, open streams. */
export const COUNTERS: readonly string[] = [keys.rate('*', 0).pk, keys.stream('*', '').pk];

/** Wrapped data keys of these purposes, of every client. */
export function dataKeyItems(purposes: readonly Purpose[]): string[] {
  return purposes.map((purpose) => keys.dataKey('*', purpose, '').pk);
}
