import type { AnswerLevel } from './types.ts';

/** From what keeps most to what keeps nothing; a later one tightens an earlier one. */
export const answerLevels = [
  'full',
  'redacted',
  'metadata',
  'none',
] as const satisfies readonly AnswerLevel[];

/**
 * The level that holds for a run (design §7, P9): the global setting, except that a global `metadata` (its default)
 * keeps a full answer, tightened by what the profile says and each provider that was tried. A level never loosens
 * another. Pure, and the only place that decides.
 */
export function resolveLevel(
  global: AnswerLevel,
  profile?: AnswerLevel,
  ...providers: readonly (AnswerLevel | undefined)[]
): AnswerLevel {
  const base = global === 'metadata' ? 'full' : global;
  return [profile, ...providers].reduce<AnswerLevel>(
    (level, own) => (own ? tighter(level, own) : level),
    base,
  );
}

/** The level of the two that keeps less: what a head's ceiling becomes when a further provider is tried. */
export function tighter(one: AnswerLevel, other: AnswerLevel): AnswerLevel {
  return answerLevels.indexOf(one) >= answerLevels.indexOf(other) ? one : other;
}

/** Whether a result can be kept at this level; a profile of another level cannot be published or called (design §7). */
export function isRetainable(level: AnswerLevel): boolean {
  return level === 'full' || level === 'redacted';
}
