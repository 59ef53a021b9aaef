import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ embedded: 'all', off: 'all' });
