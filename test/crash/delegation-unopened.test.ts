import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ unopened: 'changes' });
