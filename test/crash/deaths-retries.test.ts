import { changes } from './harness/disturb.ts';
import { surviveDeath } from './harness/suite.ts';

const accepted = { from: 'accepted' } as const;
/** What a first attempt reads, the other scenarios die of. */
const again = { ...accepted, which: changes };

surviveDeath({
  retried: again,
  fallback: accepted,
  spent: again,
  deadline: again,
  deadLetter: accepted,
});
