import { surviveDeath } from './harness/suite.ts';

const accepted = { from: 'accepted' } as const;

surviveDeath({
  retried: accepted,
  fallback: accepted,
  spent: accepted,
  deadline: accepted,
  deadLetter: accepted,
});
