import type { Purpose } from '../../shared/sealing/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { TableAction } from './tables.ts';

/** What a function that only looks at committed state does on it. */
export const READ: readonly TableAction[] = ['GetItem', 'BatchGetItem', 'Query'];

/** What a function that commits changes of tasks does on `state`: it puts revisions and content, and moves heads. */
export const TASK_WRITE: readonly TableAction[] = [...READ, 'PutItem', 'UpdateItem'];

/** What projecting does on `view` (design §4, Projection): whoever commits projects, as does the stream. */
export const VIEW_WRITE: readonly TableAction[] = [...READ, 'PutItem'];

/** What an administrator's repair and rebuild do: they go over whole tables. */
export const REPAIR: readonly TableAction[] = [...TASK_WRITE, 'DeleteItem', 'Scan'];

/** Registry partitions that a run needs: no token hash, no audit. */
export const REGISTRY_READ: readonly string[] = [
  keys.profile('*').pk,
  keys.provider('*').pk,
  keys.settings().pk,
];

/** Registry partitions that authentication needs besides. */
export const CLIENT_READ: readonly string[] = [keys.client('*').pk];

/** Counters of a client: requests of a minute, open streams. */
export const COUNTERS: readonly string[] = [keys.rate('*', 0).pk, keys.stream('*', '').pk];

/** Wrapped data keys of these purposes, of every client. */
export function dataKeyItems(purposes: readonly Purpose[]): string[] {
  return purposes.map((purpose) => keys.dataKey('*', purpose, '').pk);
}
