import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ separate: 'all' });
