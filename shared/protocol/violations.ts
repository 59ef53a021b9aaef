import type * as z from 'zod';
import type { Violation } from './errors.ts';
import { fieldPath } from './notices.ts';

/** More than these are not told: one wrong list must not make a large answer. */
export const MAX_VIOLATIONS = 20;

/** zod's issues in the wire's words. Every schema here has fixed messages, so no input shows in them. */
export function violationsOf(error: z.ZodError, root: string): Violation[] {
  return error.issues.slice(0, MAX_VIOLATIONS).map((issue) => ({
    field: fieldPath(issue.path) || root,
    description: issue.message,
  }));
}
