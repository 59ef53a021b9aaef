import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ embedded: 'all', separate: 'all', off: 'all' });
