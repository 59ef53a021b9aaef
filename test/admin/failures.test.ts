import { expect, it } from 'vitest';
import { describeFailure } from '../../shared/admin/failures.ts';

it.each([
  ['agent', 'there is an agent "x" already'],
  ['profile', 'there is a profile "x" already'],
] as const)('what exists already is told with the article that it takes: %s', (subject, message) => {
  expect(describeFailure({ kind: 'exists', subject, id: 'x' })).toMatchObject({ message });
});
