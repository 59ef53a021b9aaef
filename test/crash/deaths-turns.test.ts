import { surviveDeath } from './harness/suite.ts';

const accepted = { from: 'accepted' } as const;

surviveDeath({ question: accepted, expiry: accepted, progress: accepted });
