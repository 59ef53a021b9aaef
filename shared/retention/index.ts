/** How long tasks are kept, and how they are taken away (design §7, P12). */
export type { Purged } from './purge.ts';
export { hasRemains, purgeTask } from './purge.ts';
export { removeRemains } from './remains.ts';
export type { PurgeProgress, PurgeSelection } from './select.ts';
export { isSelected, purgeSelected } from './select.ts';
