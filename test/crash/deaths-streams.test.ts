import { surviveDeath } from './harness/suite.ts';

const accepted = { from: 'accepted' } as const;

surviveDeath({ streaming: {}, sliced: accepted });
